package find

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// maxBuffered is the maximum number of bytes of an answer that are buffered while it is read as a
// quick query. A longer answer starts over as a long query and is flushed in pieces.
const maxBuffered = 1 << 20

// wordsKey is the context key of the function that WithWords stores.
type wordsKey struct{}

// WithWords returns a context for answers in which words replaces each tag of the localizer by its
// text.
// Spec: interface 4.10.2.
func WithWords(ctx context.Context, words func(tag string) string) context.Context {
	return context.WithValue(ctx, wordsKey{}, words)
}

func wordsOf(ctx context.Context) func(string) string {
	words, _ := ctx.Value(wordsKey{}).(func(string) string)
	return words
}

// output is the state of one answer, which may come from several queries.
type output struct {
	limit int64 // bytes; 0: no limit
	flush Flush // nil: the answer is returned whole
	sent  int64 // bytes flushed
}

// tooLarge returns the error of an answer above the limit.
func tooLarge(limit int64) error {
	return fault.Invalidf(fault.NoPlace, "the answer would be too large: the limit is %d bytes; ask for less, or page by page", limit)
}

// checkSize returns an error if the answer is too large with n more bytes than it has flushed.
func (o *output) checkSize(n int64) error {
	if o.limit > 0 && encode.AddSize(o.sent, n) > o.limit {
		return tooLarge(o.limit)
	}
	return nil
}

// sink returns a sink that flushes the answer in pieces. For an answer that is returned whole, it
// returns a sink that only counts the bytes.
func (x *executor) sink(ctx context.Context) *encode.Sink {
	if x.out.flush == nil {
		return x.counted(ctx, new(int64))
	}
	return &encode.Sink{Next: Piece, Words: wordsOf(ctx), Content: x.content(ctx, new(int64)), Full: func(w []byte) ([]byte, int, error) {
		if err := x.check(ctx, int64(len(w))); err != nil {
			return w, 0, err
		}
		if db.Quick(x.q) && len(w) < maxBuffered {
			return w, maxBuffered, nil
		}
		x.large = true
		if err := db.RequireLong(x.q); err != nil {
			return w, 0, err
		}
		n := int64(len(w))
		began := time.Now()
		err := db.Yield(ctx, x.q, func() (err error) {
			w, err = x.out.flush(w)
			return err
		})
		x.waited += time.Since(began)
		x.out.sent += n
		return w, Piece, err
	}}
}

// counted returns a sink for an answer that is returned whole. It counts the bytes of the answer
// and reserves memory for them. base is the size of what was written before, in bytes.
func (x *executor) counted(ctx context.Context, base *int64) *encode.Sink {
	return &encode.Sink{Next: Piece, Words: wordsOf(ctx), Content: x.content(ctx, base), Full: func(w []byte) ([]byte, int, error) {
		err := x.check(ctx, *base+int64(len(w)))
		if err == nil {
			err = x.answer.grow(*base + int64(cap(w)))
		}
		return w, len(w) + Piece, err
	}}
}

// check returns an error if the request has ended, or if the answer is too large with n more bytes.
func (x *executor) check(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return sqlerror.Fault(err)
	}
	return x.out.checkSize(n)
}

// A reservation grows in steps of reserveStep bytes. For up to reserveFree bytes, nothing is
// reserved.
const (
	reserveStep = 1 << 20
	reserveFree = 64 << 10
)

// reservation is a part of the memory of a request. It grows as it is used.
type reservation struct {
	hold     *memory.Hold
	reserved int64
}

// grow extends the reservation to n bytes.
// Errors: as memory.Hold.Take.
func (r *reservation) grow(n int64) error {
	if r.hold == nil || n <= r.reserved || n <= reserveFree {
		return nil
	}
	more := (n - r.reserved + reserveStep - 1) / reserveStep * reserveStep
	if err := r.hold.Take(more); err != nil {
		return err
	}
	r.reserved += more
	return nil
}

// release ends the reservation.
func (r *reservation) release() {
	r.hold.Give(r.reserved)
	r.reserved = 0
}

// setMemory is the memory of the sets that are being read.
type setMemory struct {
	reservation
	used int64
}

// add counts n more bytes.
// Errors: as memory.Hold.Take.
func (m *setMemory) add(n int64) error {
	m.used += n
	return m.grow(m.used)
}

// shrink sets the number of used bytes to n and releases memory that is no longer needed.
func (m *setMemory) shrink(n int64) {
	if m.used = n; m.reserved > n+reserveStep {
		more := (m.reserved - n) / reserveStep * reserveStep
		m.hold.Give(more)
		m.reserved -= more
	}
}

// checkEvery is the number of steps of work in memory between two checks of the context.
const checkEvery = 1 << 13

// checkContext returns an error if the request has ended. i counts the steps.
func checkContext(ctx context.Context, i int) error {
	if i%checkEvery != 0 {
		return nil
	}
	return sqlerror.Fault(ctx.Err())
}
