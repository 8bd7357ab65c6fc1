package auth

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/alds-dev/alds/internal/base/fault"
)

// batch reads the values of concurrent callers together. While a read is running, it collects the
// keys for the next read. For any number of callers it needs only one connection, and each caller
// waits for at most two reads. It is safe for concurrent use.
type batch[K comparable, V any] struct {
	read func(context.Context, []K) (map[K]V, error)

	mu   sync.Mutex
	busy bool        // a read is running
	next *step[K, V] // the next read; nil: no caller waits for it
}

// step is one read.
type step[K comparable, V any] struct {
	keys map[K]struct{}
	done chan struct{}
	v    map[K]V // v and err are set before done is closed
	err  error
}

// do returns the value of k, from a read that begins after the call of do.
// Errors: those of read; fault.NotFound if the result of read has no k; fault.Transient if ctx
// ends.
func (b *batch[K, V]) do(ctx context.Context, k K) (V, error) {
	s := b.join(ctx, k)
	var none V
	select {
	case <-s.done:
	case <-ctx.Done():
		return none, fault.Transientf(ctx.Err(), "the login took too long")
	}
	if s.err != nil {
		return none, s.err
	}
	v, ok := s.v[k]
	if !ok {
		return none, fault.NotFoundf("no such member or token")
	}
	return v, nil
}

func (b *batch[K, V]) join(ctx context.Context, k K) *step[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &step[K, V]{keys: map[K]struct{}{}, done: make(chan struct{})}
	}
	s := b.next
	s.keys[k] = struct{}{}
	if !b.busy {
		b.busy = true
		go b.run(context.WithoutCancel(ctx))
	}
	return s
}

// run does one read after another until no caller waits.
func (b *batch[K, V]) run(ctx context.Context) {
	for s := b.take(); s != nil; s = b.take() {
		s.run(ctx, b.read)
	}
}

// take returns the next read and removes it from b. It returns nil if no caller waits.
func (b *batch[K, V]) take() *step[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.next
	b.next, b.busy = nil, s != nil
	return s
}

func (s *step[K, V]) run(ctx context.Context, read func(context.Context, []K) (map[K]V, error)) {
	defer close(s.done)
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	s.v, s.err = read(ctx, slices.Collect(maps.Keys(s.keys)))
}
