package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/bench/rig"
)

// measure measures and prints row by row. peer is nil if the peer is not installed. If a row
// fails, it has no numbers, and the other rows are still measured.
func measure(ctx context.Context, o options, own, peer *side, peerName string, out io.Writer) error {
	fmt.Fprintf(out, "| Work | clients | alds req/s | p50 ms | p99 ms | %[1]s req/s | p50 ms | p99 ms | alds / %[1]s, req/s | goal | load |\n", peerName)
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|")
	var wrong []error
	for _, w := range selected(works(o), o.only) {
		for _, clients := range w.clients {
			line, err := measureRow(ctx, o, w, clients, own, peer, peerName)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s, %d clients: %w", w.name, clients, err))
				line = fmt.Sprintf("| %s | %d | went wrong | | | | | | | |", w.name, clients)
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s %s |\n", line, rig.Load())
		}
	}
	return errors.Join(wrong...)
}

func measureRow(ctx context.Context, o options, w work, clients int, own, peer *side, peerName string) (string, error) {
	name := w.name
	if w.stories > 1 {
		name = strings.Replace(name, "many", fmt.Sprint(w.stories), 1)
	}
	sides := []*side{own}
	missing := "not installed"
	if peer != nil {
		missing = "has none"
		if !peer.lacks(w.kind) {
			sides = append(sides, peer)
		}
	}
	results, err := windows(ctx, o, w, clients, sides)
	if err != nil {
		return "", err
	}
	a := results[0]
	line := fmt.Sprintf("| %s | %d | %s | %s | %s |", name, clients, rate(a.Rate()), rig.Ms(a.At(50)), rig.Ms(a.At(99)))
	if len(results) == 1 {
		return line + " " + missing + " | | | | |", nil
	}
	p := results[1]
	ratio, goal := a.Rate()/p.Rate(), max(1, w.goals[peerName])
	met := "missed"
	if ratio >= goal {
		met = "met"
	}
	return line + fmt.Sprintf(" %s | %s | %s | %.2f | %g: %s |", rate(p.Rate()), rig.Ms(p.At(50)), rig.Ms(p.At(99)), ratio, goal, met), nil
}

func rate(r float64) string {
	if r < 10 {
		return fmt.Sprintf("%.2f", r)
	}
	return fmt.Sprintf("%.0f", r)
}

// windows measures the same work on the sides in turn. The side that comes first alternates. For
// reads, the first window of each side does not count, because it loads the data into memory.
func windows(ctx context.Context, o options, w work, clients int, sides []*side) ([]*rig.Result, error) {
	results := make([]*rig.Result, len(sides))
	first := 0
	for i, s := range sides {
		results[i] = &rig.Result{}
		if w.questions != nil {
			s.questions = w.questions(s.data, s.ids())
			first = -1
		}
	}
	for round := first; round < o.rounds; round++ {
		for k := range sides {
			i := (k + max(0, round)) % len(sides)
			r, err := window(ctx, o.window, sides[i], w, clients)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].name(), err)
			}
			if round >= 0 {
				results[i].Rates = append(results[i].Rates, r.Rates...)
				results[i].Times = append(results[i].Times, r.Times...)
			}
		}
	}
	for i, s := range sides {
		results[i].Sort()
		if w.questions == nil {
			if err := s.settled(); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name(), err)
			}
		}
	}
	return results, nil
}

// window runs the clients against one side. Each client sends its next request after the answer
// to its last request. It sends at least one request. The time for the check of an answer is not
// measured.
func window(ctx context.Context, length time.Duration, s *side, w work, clients int) (*rig.Result, error) {
	conns := make([]*rig.Conn, clients)
	for k := range conns {
		c, err := rig.Dial(s.addr())
		if err != nil {
			return nil, err
		}
		defer c.Close()
		conns[k] = c
	}
	// After an interrupt, do not wait for answers, which can take minutes.
	stop := context.AfterFunc(ctx, func() {
		for _, c := range conns {
			_ = c.Close()
		}
	})
	defer stop()
	r := &rig.Result{}
	var mu sync.Mutex
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	start := time.Now()
	for k, c := range conns {
		all.Go(func() {
			var times []time.Duration
			for n := 0; (n == 0 || time.Since(start) < length) && ctx.Err() == nil && failed.Load() == nil; n++ {
				took, err := one(s, w, c, k, n)
				if err != nil {
					failed.Store(&err)
					return
				}
				times = append(times, took)
			}
			mu.Lock()
			defer mu.Unlock()
			r.Times = append(r.Times, times...)
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.Rates = []float64{float64(len(r.Times)) / time.Since(start).Seconds()}
	return r, nil
}

// one sends one request, checks the answer, and returns the time until the answer.
func one(s *side, w work, c *rig.Conn, k, n int) (time.Duration, error) {
	request, check := s.request(w, k, n)
	start := time.Now()
	body, err := c.Ask(request)
	took := time.Since(start)
	if err == nil {
		err = check(body)
	}
	return took, err
}
