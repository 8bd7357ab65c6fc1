package auth

import (
	"sync"
	"time"
)

// recent remembers values for a short while. It holds at most max of them:
// when full it forgets what has expired, and else an arbitrary one. It is safe
// for concurrent use.
type recent[K comparable, V any] struct {
	max int
	ttl time.Duration // 0: until pushed out
	now func() time.Time

	mu sync.Mutex
	m  map[K]dated[V]
}

type dated[V any] struct {
	v  V
	at time.Time
}

func newRecent[K comparable, V any](limit int, ttl time.Duration, now func() time.Time) *recent[K, V] {
	return &recent[K, V]{max: limit, ttl: ttl, now: now, m: make(map[K]dated[V])}
}

func (r *recent[K, V]) get(k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.m[k]
	if !ok || r.expired(d, r.now()) {
		var zero V
		return zero, false
	}
	return d.v, true
}

// put keeps v as it was at the instant at, which is when its reading began.
func (r *recent[K, V]) put(k K, v V, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.m[k]; !known && len(r.m) >= r.max {
		r.makeRoom()
	}
	r.m[k] = dated[V]{v, at}
}

// makeRoom looks at a few entries only, in the map's random order, so that a
// full table costs the same as an empty one.
func (r *recent[K, V]) makeRoom() {
	now, seen := r.now(), 0
	for k, d := range r.m {
		if r.expired(d, now) || len(r.m) >= r.max {
			delete(r.m, k)
		}
		if seen++; seen == 16 {
			return
		}
	}
}

func (r *recent[K, V]) expired(d dated[V], now time.Time) bool {
	return r.ttl > 0 && now.Sub(d.at) >= r.ttl
}
