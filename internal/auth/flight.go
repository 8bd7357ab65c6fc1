package auth

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// proveTimeout bounds one login, the waits before its password is verified included.
const proveTimeout = 20 * time.Second

// flights does once what several callers ask for at the same time. It is done
// as long as one of them waits for it. It is safe for concurrent use; the zero
// value is ready.
type flights[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]*flight[V]
}

type flight[V any] struct {
	callers int
	cancel  context.CancelFunc
	done    chan struct{}
	v       V // with err, once done is closed
	err     error
}

// do returns what find finds for k, or fault.Transient when ctx ends before.
func (f *flights[K, V]) do(ctx context.Context, k K, find func(context.Context) (V, error)) (V, error) {
	fl := f.join(ctx, k, find)
	select {
	case <-fl.done:
		return fl.v, fl.err
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		if fl.callers--; fl.callers == 0 {
			fl.cancel()
			f.forget(k, fl)
		}
		var none V
		return none, fault.Transientf(ctx.Err(), "the login took too long")
	}
}

func (f *flights[K, V]) join(ctx context.Context, k K, find func(context.Context) (V, error)) *flight[V] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.m[k]; ok {
		fl.callers++
		return fl
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), proveTimeout)
	fl := &flight[V]{callers: 1, cancel: cancel, done: make(chan struct{})}
	if f.m == nil {
		f.m = make(map[K]*flight[V])
	}
	f.m[k] = fl
	go func() {
		defer cancel()
		fl.v, fl.err = find(within)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.forget(k, fl)
		close(fl.done)
	}()
	return fl
}

// forget lets the next caller begin anew.
func (f *flights[K, V]) forget(k K, fl *flight[V]) {
	if f.m[k] == fl {
		delete(f.m, k)
	}
}
