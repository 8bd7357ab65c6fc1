package asset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// need is what one run takes from the sequences once its assets are locked:
// exactly as many moments, Numbers and ranks as it uses.
type need struct {
	moments int64
	others  map[string]int64 // how far the sequences of Numbers and ranks move, by name
}

// taken is the answer: the first of each, and the instant stamped for them.
type taken struct {
	moment int64
	at     int64 // UTC microseconds, whole milliseconds: what ChangeDate prints is exact
	first  map[string]int64
}

// taker lets concurrent runs of this process share one short transaction:
// whoever comes while a take is under way waits for the next, which takes for
// all who wait.
type taker struct {
	db     *db.DB
	ranked map[string][]int64 // by sequence of ranks: the codes of the types that share it
	mu     sync.Mutex
	busy   bool
	wait   []*ticket
}

type ticket struct {
	need need
	got  taken
	err  error
	done chan struct{}
}

// takeLimit bounds one take; it is not the caller's context, since others share it.
const takeLimit = 15 * time.Second

// take returns moments, Numbers and ranks. Where the small pool must not be used
// inside a transaction they come from tx.
func (k *taker) take(ctx context.Context, tx *db.Tx, n need) (taken, error) {
	if !k.db.Dialect.SmallInside {
		t := &ticket{need: n}
		err := k.inTransaction(ctx, tx, []*ticket{t})
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
	take := func() error {
		return k.db.Small(ctx, func(tx *db.Tx) error { return takeAll(ctx, tx, batch) })
	}
	err := take()
	if errors.Is(err, errNoSequence) {
		err = k.db.Small(ctx, func(tx *db.Tx) error { return k.begin(ctx, tx, batch) })
		if err == nil {
			err = take()
		}
	}
	for _, t := range batch {
		t.err = err
		close(t.done)
	}
}

// inTransaction takes within the transaction that writes.
func (k *taker) inTransaction(ctx context.Context, tx *db.Tx, batch []*ticket) error {
	err := tx.Savepoint(ctx, func() error { return takeAll(ctx, tx, batch) })
	if !errors.Is(err, errNoSequence) {
		return err
	}
	if err := k.begin(ctx, tx, batch); err != nil {
		return err
	}
	return takeAll(ctx, tx, batch)
}

// errNoSequence says that a sequence of Numbers or ranks is not there yet.
var errNoSequence = errors.New("a sequence is missing")

// firstNumber is where the Numbers of a type start.
const firstNumber = 1001

// begin makes the sequences that are missing: Numbers from the first on, ranks
// behind those in use. Where another process was faster, its row stays.
func (k *taker) begin(ctx context.Context, tx *db.Tx, batch []*ticket) error {
	names, _ := sequencesOf(batch)
	values := make([]int64, len(names))
	for i, name := range names {
		types, ranks := k.ranked[name]
		if !ranks {
			values[i] = firstNumber - 1
			continue
		}
		var err error
		if values[i], err = rankBegun(ctx, tx, types); err != nil {
			return err
		}
	}
	row := []any{nil, nil, int64(0)}
	err := db.UpsertN(ctx, tx, "sequence", []string{"name", "value", "stamped_at"}, []string{"name"}, nil, len(names), func(i int) []any {
		row[0], row[1] = names[i], values[i]
		return row
	})
	if err != nil {
		return fmt.Errorf("begin sequences: %w", err)
	}
	return nil
}

// rankBegun is the value with which the sequence of ranks begins that some
// types share.
func rankBegun(ctx context.Context, tx *db.Tx, types []int64) (int64, error) {
	in, args := db.InArgs(types)
	var used *int64
	if err := tx.QueryRow(ctx, `SELECT MAX(order_key) FROM asset WHERE type IN `+in, args...).Scan(&used); err != nil {
		return 0, fmt.Errorf("greatest rank: %w", err)
	}
	if used == nil {
		return rankBegin, nil
	}
	return rankValue(*used), nil
}

// numberSequence is the sequence of a type's Numbers.
func numberSequence(t *meta.Type) string { return "number:" + t.Name }

// sequencesOf returns the sequences that the tickets need beside the moments, in
// order, and how far each moves.
func sequencesOf(batch []*ticket) (names []string, by map[string]int64) {
	by = map[string]int64{}
	for _, t := range batch {
		for name, n := range t.need.others {
			by[name] += n
		}
	}
	return slices.Sorted(maps.Keys(by)), by
}

// takeAll moves the sequences once for all tickets, by one statement: the
// server locks its rows in the order of their key, in every process the same.
// The moments are stamped with the database's clock, which never goes
// backwards here.
func takeAll(ctx context.Context, tx *db.Tx, batch []*ticket) error {
	var moments int64
	for _, t := range batch {
		moments += t.need.moments
	}
	names, by := sequencesOf(batch)
	in, args := db.InArgsOf(append([]string{"moment"}, names...))
	set, steps := `CASE name WHEN 'moment' THEN ?`, []any{moments}
	for _, name := range args[1:] { // those that fill the list, too: few statements
		set += ` WHEN ? THEN ?`
		steps = append(steps, name, by[name.(string)])
	}
	r, err := tx.Exec(ctx, `UPDATE sequence SET value = value + `+set+` END, stamped_at = CASE name WHEN 'moment' THEN `+
		tx.Dialect().Greatest+`(stamped_at, `+tx.Dialect().NowMillis+`) ELSE stamped_at END WHERE name IN `+in, append(steps, args...)...)
	if err != nil {
		return fmt.Errorf("take moments and numbers: %w", err)
	}
	if moved, err := r.RowsAffected(); err != nil || moved < int64(1+len(names)) {
		return errors.Join(err, errNoSequence)
	}
	return handOut(ctx, tx, batch, in, args)
}

// handOut gives each ticket its part of what was taken.
func handOut(ctx context.Context, tx *db.Tx, batch []*ticket, in string, args []any) error {
	rows, err := tx.Query(ctx, `SELECT name, value, stamped_at FROM sequence WHERE name IN `+in, args...)
	if err != nil {
		return fmt.Errorf("read what was taken: %w", err)
	}
	last, at := map[string]int64{}, int64(0)
	err = each(rows, func() error {
		var name string
		var value, stamped int64
		if err := rows.Scan(&name, &value, &stamped); err != nil {
			return err
		}
		last[name], at = value, max(at, stamped)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read what was taken: %w", err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, last["moment"], at); err != nil {
		return fmt.Errorf("stamp moments: %w", err)
	}
	for _, t := range slices.Backward(batch) {
		t.got = taken{moment: last["moment"] - t.need.moments + 1, at: at, first: make(map[string]int64, len(t.need.others))}
		last["moment"] -= t.need.moments
		for name, n := range t.need.others {
			last[name] -= n
			t.got.first[name] = last[name] + 1
		}
	}
	return nil
}
