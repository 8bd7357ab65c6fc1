//go:build !linux

package main

import "time"

// alarm waits until a point in time, with the precision of time.Sleep.
type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

// until returns at or after the given time.
func (*alarm) until(due time.Time) error {
	time.Sleep(time.Until(due))
	return nil
}

func (*alarm) close() {}
