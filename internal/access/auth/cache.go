package auth

import (
	"sync"
	"time"
)

// cache stores at most max values, each for the time ttl. If it is full, it evicts expired
// values, or otherwise an arbitrary value. It is safe for concurrent use.
type cache[K comparable, V any] struct {
	max int
	ttl time.Duration // 0: until evicted
	now func() time.Time

	mu      sync.Mutex
	entries map[K]entry[V]
}

type entry[V any] struct {
	v  V
	at time.Time
}

func newCache[K comparable, V any](limit int, ttl time.Duration, now func() time.Time) *cache[K, V] {
	return &cache[K, V]{max: limit, ttl: ttl, now: now, entries: make(map[K]entry[V])}
}

func (r *cache[K, V]) get(k K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.entries[k]
	if !ok || r.expired(d, r.now()) {
		var zero V
		return zero, false
	}
	return d.v, true
}

// getWithin is get, but with age in place of ttl.
func (r *cache[K, V]) getWithin(k K, age time.Duration) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.entries[k]; ok && r.now().Sub(d.at) < age {
		return d.v, true
	}
	var zero V
	return zero, false
}

// put stores v. at is the time at which the read of v began.
func (r *cache[K, V]) put(k K, v V, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.entries[k]; !known && len(r.entries) >= r.max {
		r.evict()
	}
	r.entries[k] = entry[V]{v, at}
}

// evict deletes the expired entries of a random sample, or otherwise an arbitrary entry. It does
// not search all entries, so that put is fast in a full cache.
func (r *cache[K, V]) evict() {
	now, seen := r.now(), 0
	for k, d := range r.entries {
		if r.expired(d, now) || len(r.entries) >= r.max {
			delete(r.entries, k)
		}
		if seen++; seen == 16 {
			return
		}
	}
}

func (r *cache[K, V]) expired(d entry[V], now time.Time) bool {
	return r.ttl > 0 && now.Sub(d.at) >= r.ttl
}
