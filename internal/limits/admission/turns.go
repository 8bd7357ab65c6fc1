package admission

import (
	"context"
	"slices"
	"sync"
)

// Turns lets one request run at a time. Keys take turns, and the requests of one key run in the
// order of their calls of Take. Turns is safe for concurrent use, and its zero value is ready to
// use.
type Turns struct {
	mu      sync.Mutex
	taken   bool
	waiting []*turnLine // the keys with waiting requests, in the order of their turns
}

// turnLine is the queue of one key's requests, in the order of their arrival.
type turnLine struct {
	key      any
	requests []chan struct{}
}

// Take waits until the request may run. It returns the error of ctx if ctx ends first.
func (t *Turns) Take(ctx context.Context, key any) error {
	t.mu.Lock()
	if !t.taken {
		t.taken = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.wait(key, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cancel(key, mine) { // the turn of the request came in the meantime
		return nil
	}
	return ctx.Err()
}

func (t *Turns) wait(key any, mine chan struct{}) {
	for _, line := range t.waiting {
		if line.key == key {
			line.requests = append(line.requests, mine)
			return
		}
	}
	t.waiting = append(t.waiting, &turnLine{key, []chan struct{}{mine}})
}

// cancel removes a waiting request. It returns false if the request no longer waits.
func (t *Turns) cancel(key any, mine chan struct{}) bool {
	for i, line := range t.waiting {
		at := slices.Index(line.requests, mine)
		if line.key != key || at < 0 {
			continue
		}
		if line.requests = slices.Delete(line.requests, at, at+1); len(line.requests) == 0 {
			t.waiting = slices.Delete(t.waiting, i, i+1)
		}
		return true
	}
	return false
}

// next starts the next waiting request. It returns false if no request waits. The caller must hold
// t.mu.
func (t *Turns) next() bool {
	if len(t.waiting) == 0 {
		return false
	}
	line := t.waiting[0]
	close(line.requests[0])
	line.requests, t.waiting = line.requests[1:], t.waiting[1:]
	if len(line.requests) > 0 {
		t.waiting = append(t.waiting, line)
	}
	return true
}

// Pass ends the current turn and starts the next turn. If no request waits, it returns false, and
// the current turn continues.
func (t *Turns) Pass() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.next()
}

// End ends the current turn.
func (t *Turns) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = t.next()
}

// Waiting returns the number of requests that wait for their turn.
func (t *Turns) Waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, line := range t.waiting {
		n += len(line.requests)
	}
	return n
}
