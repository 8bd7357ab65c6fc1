package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// part is a long-running function of a role.
type part struct {
	name string
	run  func(ctx context.Context) error // returns when ctx has ended and its work is finished
	step int                             // the step in which it is stopped
}

// The steps of stopping, in this order.
const (
	stepWork  = iota // listeners and workers finish the running work
	stepQueue        // the client of the queue sends the last messages
	stepAdmin        // the admin listener, which reports until then that the process is stopping
	steps
)

// runParts runs parts until ctx or one of them ends. Then it stops all of them, step by step,
// within grace. It returns nil if ctx ended and all parts stopped in time without an error.
// Otherwise it returns the error of the part that ended first, joined with the errors of stopping.
func runParts(ctx context.Context, parts []part, grace time.Duration, log *slog.Logger) error {
	type ended struct {
		part part
		err  error
	}
	var stop [steps]context.CancelFunc
	var left [steps]int
	ends := make(chan ended, len(parts))
	ctxs := [steps]context.Context{}
	for i := range stop {
		ctxs[i], stop[i] = context.WithCancel(context.WithoutCancel(ctx))
		defer stop[i]()
	}
	for _, p := range parts {
		left[p.step]++
		go func() { ends <- ended{p, recovered(ctxs[p.step], p)} }()
	}
	var first error
	select {
	case <-ctx.Done():
	case e := <-ends:
		left[e.part.step]--
		if first = e.err; first == nil {
			first = errors.New("ended unexpectedly")
		}
		first = fmt.Errorf("%s: %w", e.part.name, first)
	}
	log.Info("stopping", "grace_s", grace.Seconds())
	late := time.After(grace)
	for i := range stop {
		stop[i]()
		for left[i] > 0 {
			select {
			case e := <-ends:
				left[e.part.step]--
				if e.err != nil && !errors.Is(e.err, context.Canceled) {
					first = errors.Join(first, fmt.Errorf("%s: %w", e.part.name, e.err))
				}
			case <-late:
				return errors.Join(first, fmt.Errorf("some parts did not end within %s", grace))
			}
		}
	}
	return first
}

// recovered runs a part. It returns a panic as an error, so that the process still stops in
// order.
func recovered(ctx context.Context, p part) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return p.run(ctx)
}
