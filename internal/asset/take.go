package asset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// need is what one run takes from the sequences once its assets are locked:
// exactly as many moments and Numbers as it uses.
type need struct {
	moments int64
	numbers map[string]int64 // by asset type
}

// taken is the answer: the first of each, and the instant stamped for them.
type taken struct {
	moment  int64
	at      int64 // UTC microseconds, whole milliseconds: what ChangeDate prints is exact
	numbers map[string]int64
}

// taker lets concurrent runs of this process share one short transaction:
// whoever comes while a take is under way waits for the next, which takes for
// all who wait.
type taker struct {
	db   *db.DB
	mu   sync.Mutex
	busy bool
	wait []*ticket
}

type ticket struct {
	need need
	got  taken
	err  error
	done chan struct{}
}

// takeLimit bounds one take; it is not the caller's context, since others share it.
const takeLimit = 15 * time.Second

// take returns moments and Numbers. Where the small pool must not be used
// inside a transaction they come from tx.
func (k *taker) take(ctx context.Context, tx *db.Tx, n need) (taken, error) {
	if !k.db.Dialect.SmallInside {
		t := &ticket{need: n}
		err := takeAll(ctx, tx, []*ticket{t})
		return t.got, err
	}
	t := &ticket{need: n, done: make(chan struct{})}
	k.mu.Lock()
	k.wait = append(k.wait, t)
	lead := !k.busy
	k.busy = true
	k.mu.Unlock()
	if lead {
		go k.serve(context.WithoutCancel(ctx))
	}
	select {
	case <-t.done:
		return t.got, t.err
	case <-ctx.Done(): // what is taken for it is left unused
		return taken{}, db.Fault(ctx.Err())
	}
}

// serve works for all who wait until nobody does.
func (k *taker) serve(ctx context.Context) {
	for {
		k.mu.Lock()
		batch := k.wait
		k.wait = nil
		if len(batch) == 0 {
			k.busy = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		k.once(ctx, batch)
	}
}

func (k *taker) once(ctx context.Context, batch []*ticket) {
	ctx, cancel := context.WithTimeout(ctx, takeLimit)
	defer cancel()
	err := k.db.Small(ctx, func(tx *db.Tx) error { return takeAll(ctx, tx, batch) })
	for _, t := range batch {
		t.err = err
		close(t.done)
	}
}

// takeAll moves the sequences once for all tickets. Numbers first and in name
// order: every process locks the rows in the same order.
func takeAll(ctx context.Context, tx *db.Tx, batch []*ticket) error {
	total := map[string]int64{}
	var moments int64
	for _, t := range batch {
		moments += t.need.moments
		t.got.numbers = make(map[string]int64, len(t.need.numbers))
		for typ, n := range t.need.numbers {
			total[typ] += n
		}
	}
	types := make([]string, 0, len(total))
	for typ := range total {
		types = append(types, typ)
	}
	slices.Sort(types)
	for _, typ := range types {
		first, err := nextNumber(ctx, tx, typ, total[typ])
		if err != nil {
			return fmt.Errorf("take numbers of %s: %w", typ, err)
		}
		for _, t := range batch {
			t.got.numbers[typ] = first
			first += t.need.numbers[typ]
		}
	}
	first, at, err := nextMoment(ctx, tx, moments)
	if err != nil {
		return fmt.Errorf("take moments: %w", err)
	}
	for _, t := range batch {
		t.got.moment, t.got.at = first, at
		first += t.need.moments
	}
	return nil
}

// firstNumber is where the Numbers of a type start.
const firstNumber = 1001

func nextNumber(ctx context.Context, tx *db.Tx, typ string, n int64) (int64, error) {
	name := "number:" + typ
	first, err := advance(ctx, tx, name, n)
	if fault.KindOf(err) != fault.NotFound {
		return first, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO sequence (name, value, stamped_at) VALUES (?, ?, 0)`, name, firstNumber-1+n)
	if fault.KindOf(err) == fault.Conflict { // another process made it meanwhile
		return advance(ctx, tx, name, n)
	}
	return firstNumber, err
}

// nextMoment takes n moments and stamps them with the database's clock, which
// never goes backwards here. No moments wanted: only the time.
func nextMoment(ctx context.Context, tx *db.Tx, n int64) (first, at int64, err error) {
	now := `(` + tx.Dialect().NowMicros + `)`
	_, err = tx.Exec(ctx, `UPDATE sequence SET value = value + ?, stamped_at = CASE WHEN `+
		now+` - `+now+` % 1000 > stamped_at THEN `+now+` - `+now+` % 1000 ELSE stamped_at END WHERE name = 'moment'`, n)
	if err != nil {
		return 0, 0, err
	}
	var last int64
	if err := tx.QueryRow(ctx, `SELECT value, stamped_at FROM sequence WHERE name = 'moment'`).Scan(&last, &at); err != nil {
		return 0, 0, err
	}
	if n > 0 {
		_, err = tx.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, last, at)
	}
	return last - n + 1, at, err
}
