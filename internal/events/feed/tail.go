package feed

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// The times of the poller while a request waits. The poller polls every pollEvery, or sooner if
// this process has committed a write. The pause between two polls is at least pollPause.
const (
	pollEvery   = 250 * time.Millisecond
	pollPause   = 50 * time.Millisecond
	pollTimeout = 30 * time.Second
)

// Wait returns when there is a position above head. It uses no database connection, because one
// poller serves all waiting requests. It returns an error when ctx ends.
func (l *Log) Wait(ctx context.Context, head int64) error {
	l.enter()
	defer l.leave()
	for {
		l.mu.Lock()
		now, moved := l.head, l.moved
		l.mu.Unlock()
		if now > head {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return sqlerror.Fault(ctx.Err())
		}
	}
}

// Committed must be called after this process has committed changes.
func (l *Log) Committed() {
	l.mu.Lock()
	waiting := l.waiting
	l.mu.Unlock()
	if waiting == 0 {
		return
	}
	select {
	case l.poke <- struct{}{}:
	default:
	}
}

// enter counts a waiting request. If the poller does not run, it starts the poller.
func (l *Log) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting++
	if !l.polling {
		l.polling = true
		go l.poll()
	}
}

func (l *Log) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
}

// poll looks for new changes once, and then again and again until no request waits. If l.head is
// above the last position in the database, the first poll corrects l.head.
func (l *Log) poll() {
	for failing, on := false, true; on; on = l.isWaitedFor() {
		ctx, cancel := context.WithTimeout(context.Background(), pollTimeout)
		head, err := l.Advance(ctx)
		cancel()
		if err != nil && !failing {
			l.log.Warn("cannot look for new changes", "err", err)
		}
		if failing = err != nil; !failing {
			l.move(head)
		}
		time.Sleep(pollPause)
		select {
		case <-l.poke:
		case <-time.After(pollEvery - pollPause):
		}
	}
}

// isWaitedFor reports whether requests wait, so that the poller must continue.
func (l *Log) isWaitedFor() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.polling = l.waiting > 0
	return l.polling
}

// move sets the last position, and wakes all waiting requests if it has changed. The position
// decreases if the database has lost its last writes.
func (l *Log) move(head int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if head != l.head {
		l.head = head
		close(l.moved)
		l.moved = make(chan struct{})
	}
}
