package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm waits until a point in time. In an idle process, time.Sleep wakes up to a millisecond
// late, because the runtime rounds its timers to milliseconds. A kernel timer that is read as
// a file wakes less than 0.1 ms late.
type alarm struct {
	fd   int
	file *os.File
	read [8]byte
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timer")}, nil
}

// until returns at or after the given time.
func (a *alarm) until(due time.Time) error {
	for {
		left := time.Until(due)
		if left <= 0 {
			return nil
		}
		spec := unix.ItimerSpec{Value: unix.NsecToTimespec(left.Nanoseconds())}
		if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
			return os.NewSyscallError("timerfd_settime", err)
		}
		if _, err := a.file.Read(a.read[:]); err != nil {
			return err
		}
	}
}

func (a *alarm) close() { _ = a.file.Close() }
