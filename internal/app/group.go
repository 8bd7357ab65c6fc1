package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// part is one long-running piece of a role.
type part struct {
	name string
	// run works until its context ends and returns once nothing of it is left.
	run func(ctx context.Context) error
	// step is when it is stopped; lower ones first.
	step int
}

// The steps of stopping.
const (
	stepWork  = iota // listeners and workers: finish what is running
	stepHints        // what carries hints from them to the queue
	stepAdmin        // the admin listener, which tells of the stopping
	steps
)

// runParts runs parts until ctx ends or one of them does, then stops them step
// by step within grace. It returns what ended it, nil when that was ctx.
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
		go func() { ends <- ended{p, guarded(ctxs[p.step], p)} }()
	}
	var first error
	select {
	case <-ctx.Done():
	case e := <-ends:
		left[e.part.step]--
		if first = e.err; first == nil {
			first = errors.New("ended by itself")
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
				return errors.Join(first, fmt.Errorf("not everything ended within %s", grace))
			}
		}
	}
	return first
}

// guarded runs a part and turns its panic into an error, so that one broken
// part stops the process in order.
func guarded(ctx context.Context, p part) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	return p.run(ctx)
}
