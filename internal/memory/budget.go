package memory

import (
	"context"
	"sync"

	"github.com/alds-dev/alds/internal/fault"
)

// Budget is a number of bytes that requests share. It is safe for concurrent
// use; make it with NewBudget.
type Budget struct {
	limit, share int64

	mu    sync.Mutex
	used  int64
	peak  int64 // of used since Peak was asked
	byKey map[any]int64
}

// NewBudget returns a budget of limit bytes, of which one key may have half.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, share: limit / 2, byKey: map[any]int64{}}
}

// Used returns how many bytes are taken, and how many there are.
func (b *Budget) Used() (used, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.limit
}

// Peak returns the most bytes that were taken at a time since it was last asked.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	peak := b.peak
	b.peak = b.used
	return peak
}

// Hold begins what one request takes, for a comparable key such as its member.
// The caller releases it.
func (b *Budget) Hold(key any) *Hold { return &Hold{b: b, key: key} }

// Hold is what one request has taken of a budget. A nil Hold takes from
// nothing and is never refused. It is safe for concurrent use.
type Hold struct {
	b    *Budget
	key  any
	took int64 // under b.mu
}

// Take takes n bytes more. Errors: fault.Invalid when no request may ever have
// so many; fault.Transient when they are in use.
func (h *Hold) Take(n int64) error {
	if h == nil || n <= 0 {
		return nil
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case h.took+n > b.share:
		return fault.Invalidf(fault.NoPlace, "the request needs more memory than this server gives to one: the limit is %d bytes", b.share)
	case b.used+n > b.limit:
		return fault.Transientf(nil, "the server has no memory left for this request")
	case b.byKey[h.key]+n > b.share:
		return fault.Transientf(nil, "your other requests use the memory that one member may have")
	}
	h.took += n
	b.used += n
	b.peak = max(b.peak, b.used)
	b.byKey[h.key] += n
	return nil
}

// Give gives n of the taken bytes back before the request ends.
func (h *Hold) Give(n int64) {
	if h == nil || n <= 0 {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.give(min(n, h.took))
}

// Release gives everything back; the hold takes no more. It may be called twice.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.give(h.took)
}

func (h *Hold) give(n int64) {
	b := h.b
	h.took -= n
	b.used -= n
	if b.byKey[h.key] -= n; b.byKey[h.key] == 0 {
		delete(b.byKey, h.key)
	}
}

type contextKey struct{}

// With returns a context that carries h.
func With(ctx context.Context, h *Hold) context.Context {
	return context.WithValue(ctx, contextKey{}, h)
}

// From returns the hold that a context carries, or nil.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(contextKey{}).(*Hold)
	return h
}
