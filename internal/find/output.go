package find

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/encode"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/memory"
)

// Whole is how many bytes of an answer are gathered while it is read as a quick
// one. With more it starts over as a long one and is handed on in pieces.
const Whole = 1 << 20

// output is what has become of one answer, which may be that of several queries.
type output struct {
	limit int64 // bytes; 0 for any number
	flush Flush // nil: the answer is kept whole
	sent  int64 // bytes handed to flush
}

// tooLarge is the error of an answer beyond the limit.
func tooLarge(limit int64) error {
	return fault.Invalidf(fault.NoPlace, "the answer would be too large: the limit is %d bytes; ask for less, or page by page", limit)
}

// fits returns an error when n bytes more than those sent are too many.
func (o *output) fits(n int64) error {
	if o.limit > 0 && encode.Add(o.sent, n) > o.limit {
		return tooLarge(o.limit)
	}
	return nil
}

// sink takes the answer off in pieces. Where it is kept whole, it is counted.
func (run *run) sink() *encode.Sink {
	if run.out.flush == nil {
		return run.counted(new(int64))
	}
	return &encode.Sink{Next: Piece, Full: func(w []byte) ([]byte, int, error) {
		if err := run.goesOn(int64(len(w))); err != nil {
			return w, 0, err
		}
		if db.Quick(run.q) && len(w) < Whole {
			return w, Whole, nil
		}
		run.large = true
		if err := db.Lengthen(run.q); err != nil {
			return w, 0, err
		}
		n := int64(len(w))
		err := db.Aside(run.ctx, run.q, func() (err error) {
			w, err = run.out.flush(w)
			return err
		})
		run.out.sent += n
		return w, Piece, err
	}}
}

// counted takes the memory of what is kept whole, besides the bytes of before.
func (run *run) counted(before *int64) *encode.Sink {
	return &encode.Sink{Next: Piece, Full: func(w []byte) ([]byte, int, error) {
		err := run.goesOn(*before + int64(len(w)))
		if err == nil {
			err = run.answer.grow(*before + int64(cap(w)))
		}
		return w, len(w) + Piece, err
	}}
}

// goesOn returns an error when the request is over, or n bytes are too many.
func (run *run) goesOn(n int64) error {
	if err := run.ctx.Err(); err != nil {
		return db.Fault(err)
	}
	return run.out.fits(n)
}

// What a lease takes in one step, and what is too little to be counted.
const (
	leaseStep = 1 << 20
	leaseFree = 64 << 10
)

// lease is memory that is taken of the request's as it grows.
type lease struct {
	hold *memory.Hold
	took int64
}

// grow takes what is missing to n bytes. Errors: as memory.Hold.Take.
func (l *lease) grow(n int64) error {
	if l.hold == nil || n <= l.took || n <= leaseFree {
		return nil
	}
	more := (n - l.took + leaseStep - 1) / leaseStep * leaseStep
	if err := l.hold.Take(more); err != nil {
		return err
	}
	l.took += more
	return nil
}

// end gives everything back.
func (l *lease) end() {
	l.hold.Give(l.took)
	l.took = 0
}

// room counts the sets that are read at a time.
type room struct {
	lease
	used int64
}

// add counts n bytes more.
func (r *room) add(n int64) error {
	r.used += n
	return r.grow(r.used)
}

// back forgets what was added since there were n bytes.
func (r *room) back(n int64) {
	if r.used = n; r.took > n+leaseStep {
		more := (r.took - n) / leaseStep * leaseStep
		r.hold.Give(more)
		r.took -= more
	}
}

// checkEvery is how many steps of work in memory pass between two looks at the
// clock.
const checkEvery = 1 << 13

// alive returns an error when the request is over; i counts the steps.
func alive(ctx context.Context, i int) error {
	if i%checkEvery != 0 {
		return nil
	}
	return db.Fault(ctx.Err())
}
