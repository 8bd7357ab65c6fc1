package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/alds-dev/alds/internal/base/fault"
)

// ErrTooMuch is the cause of an error of Take when the request needs more bytes than any request
// may reserve.
var ErrTooMuch = errors.New("more memory than one request may reserve")

// Budget is a number of bytes that requests share. It is safe for concurrent use. NewBudget returns
// a Budget.
type Budget struct {
	limit, share int64

	mu    sync.Mutex
	used  int64
	peak  int64 // maximum of used since the last call of Peak
	byKey map[any]int64
}

// NewBudget returns a budget. limit is its number of bytes. One key may use half of the budget.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, share: limit / 2, byKey: map[any]int64{}}
}

// Used returns how many bytes are reserved, and the limit.
func (b *Budget) Used() (used, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.limit
}

// Peak returns the maximum number of reserved bytes since the last call.
func (b *Budget) Peak() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	peak := b.peak
	b.peak = b.used
	return peak
}

// Hold returns an empty reservation for a key, such as a member. The key must be comparable.
// The caller must release it. A nil Budget has no limit, and its reservation is nil.
func (b *Budget) Hold(key any) *Hold {
	if b == nil {
		return nil
	}
	return &Hold{b: b, key: key}
}

// Hold is the reservation of one request. A nil Hold reserves nothing and never
// fails. It is safe for concurrent use.
type Hold struct {
	b    *Budget
	key  any
	size int64 // number of reserved bytes; guarded by b.mu
}

// Take reserves n more bytes. The error has the kind fault.Invalid when no request may reserve so
// many bytes, and fault.Transient when too few bytes are free.
func (h *Hold) Take(n int64) error {
	if h == nil || n <= 0 {
		return nil
	}
	b := h.b
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case h.size+n > b.share:
		return tooMuch(b.share)
	case b.used+n > b.limit:
		return fault.Transientf(nil, "the server has no memory left for this request")
	case b.byKey[h.key]+n > b.share:
		return fault.Transientf(nil, "your other requests use the memory that one member may have")
	}
	h.size += n
	b.used += n
	b.peak = max(b.peak, b.used)
	b.byKey[h.key] += n
	return nil
}

func tooMuch(limit int64) error {
	return &fault.Error{
		Kind: fault.Invalid, At: fault.NoPlace, Err: ErrTooMuch,
		Msg: fmt.Sprintf("the request needs more memory than this server gives to one: the limit is %d bytes", limit),
	}
}

// Give returns n of the reserved bytes to the budget before the request ends.
func (h *Hold) Give(n int64) {
	if h == nil || n <= 0 {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.give(min(n, h.size))
}

// Release returns all reserved bytes to the budget. It may be called twice.
func (h *Hold) Release() {
	if h == nil {
		return
	}
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	h.give(h.size)
}

func (h *Hold) give(n int64) {
	b := h.b
	h.size -= n
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

// From returns the hold in a context, or nil.
func From(ctx context.Context) *Hold {
	h, _ := ctx.Value(contextKey{}).(*Hold)
	return h
}
