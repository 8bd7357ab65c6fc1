//go:build !linux

package main

import "time"

// alarm waits until a moment, as exactly as time.Sleep does.
type alarm struct{}

func newAlarm() (*alarm, error) { return &alarm{}, nil }

// until returns at the moment or after it.
func (*alarm) until(due time.Time) error {
	time.Sleep(time.Until(due))
	return nil
}

func (*alarm) close() {}
