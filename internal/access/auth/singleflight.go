package auth

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// proveTimeout is the time limit of one login, including the waits before its password is
// verified. It is also the limit of one shared read.
const proveTimeout = 20 * time.Second

// singleflight shares one call among concurrent callers with the same key. If all callers stop
// waiting, the call is canceled. It is safe for concurrent use, and can be used without
// initialization.
type singleflight[K comparable, V any] struct {
	mu    sync.Mutex
	calls map[K]*call[V]
}

type call[V any] struct {
	callers int
	cancel  context.CancelFunc
	done    chan struct{}
	v       V // v and err are set before done is closed
	err     error
}

// do returns the result of find for k. Errors: those of find; fault.Transient if ctx ends before
// find returns.
func (f *singleflight[K, V]) do(ctx context.Context, k K, find func(context.Context) (V, error)) (V, error) {
	fl := f.join(ctx, k, find)
	select {
	case <-fl.done:
		return fl.v, fl.err
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		if fl.callers--; fl.callers == 0 {
			fl.cancel()
			f.remove(k, fl)
		}
		var none V
		return none, fault.Transientf(ctx.Err(), "the login took too long")
	}
}

func (f *singleflight[K, V]) join(ctx context.Context, k K, find func(context.Context) (V, error)) *call[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.calls[k]; ok {
		fl.callers++
		return fl
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), proveTimeout)
	fl := &call[V]{callers: 1, cancel: cancel, done: make(chan struct{})}
	if f.calls == nil {
		f.calls = make(map[K]*call[V])
	}
	f.calls[k] = fl
	go func() {
		defer cancel()
		fl.v, fl.err = find(within)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.remove(k, fl)
		close(fl.done)
	}()
	return fl
}

// remove makes the next caller start a new call.
func (f *singleflight[K, V]) remove(k K, fl *call[V]) {
	if f.calls[k] == fl {
		delete(f.calls, k)
	}
}
