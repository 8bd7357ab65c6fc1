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
type flights struct {
	mu sync.Mutex
	m  map[key]*flight
}

type flight struct {
	callers int
	cancel  context.CancelFunc
	done    chan struct{}
	member  int64 // with err, once done is closed
	err     error
}

// do returns what prove does for k, or fault.Transient when ctx ends before.
func (f *flights) do(ctx context.Context, k key, prove func(context.Context) (int64, error)) (int64, error) {
	fl := f.join(ctx, k, prove)
	select {
	case <-fl.done:
		return fl.member, fl.err
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		if fl.callers--; fl.callers == 0 {
			fl.cancel()
			f.forget(k, fl)
		}
		return 0, fault.Transientf(ctx.Err(), "the login took too long")
	}
}

func (f *flights) join(ctx context.Context, k key, prove func(context.Context) (int64, error)) *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl, ok := f.m[k]; ok {
		fl.callers++
		return fl
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), proveTimeout)
	fl := &flight{callers: 1, cancel: cancel, done: make(chan struct{})}
	if f.m == nil {
		f.m = make(map[key]*flight)
	}
	f.m[k] = fl
	go func() {
		defer cancel()
		fl.member, fl.err = prove(within)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.forget(k, fl)
		close(fl.done)
	}()
	return fl
}

// forget lets the next caller begin anew.
func (f *flights) forget(k key, fl *flight) {
	if f.m[k] == fl {
		delete(f.m, k)
	}
}
