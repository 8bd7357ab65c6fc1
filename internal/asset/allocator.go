package asset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// block hands out ids of a sequence, a range of which each process reserves.
type block struct {
	sequence string
	size     int64
	mu       sync.Mutex
	first    int64 // of the ids left
	end      int64 // exclusive
}

// next returns the first of n consecutive ids. Where the small pool must not be
// used inside a transaction they come from tx: a block would outlive its rollback.
func (b *block) next(ctx context.Context, d *db.DB, tx *db.Tx, n int64) (int64, error) {
	if !d.Dialect.SmallInside {
		return advanceSequence(ctx, tx, b.sequence, n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end-b.first < n {
		size := max(b.size, n)
		err := d.Small(ctx, func(tx *db.Tx) error {
			first, err := advanceSequence(ctx, tx, b.sequence, size)
			b.first, b.end = first, first+size
			return err
		})
		if err != nil {
			b.first, b.end = 0, 0
			return 0, fmt.Errorf("allocate %s: %w", b.sequence, err)
		}
	}
	first := b.first
	b.first += n
	return first, nil
}

// advanceSequence moves a sequence by n and returns the first value passed.
func advanceSequence(ctx context.Context, tx *db.Tx, name string, n int64) (int64, error) {
	if _, err := tx.Exec(ctx, `UPDATE sequence SET value = value + ? WHERE name = ?`, n, name); err != nil {
		return 0, err
	}
	var value int64
	err := tx.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, name).Scan(&value)
	return value - n + 1, err
}

// demand is what a batch needs of the sequences once its assets are locked.
type demand struct {
	moments int64
	others  map[string]int64   // how far the sequences of Numbers and ranks move, by name
	ranked  map[string][]int64 // by sequence of ranks: the codes of the types that share it
}

// allocation is the answer: the first of each, and the instant stamped for them.
type allocation struct {
	moment int64
	at     int64 // UTC microseconds, whole milliseconds: what ChangeDate prints is exact
	first  map[string]int64
}

// allocator lets concurrent batches of this process share one short transaction:
// those that come while one is running wait for the next, which allocates for all
// of them.
type allocator struct {
	db      *db.DB
	mu      sync.Mutex
	running bool
	waiting []*waiter
}

type waiter struct {
	demand demand
	got    allocation
	err    error
	done   chan struct{}
}

// allocateTimeout bounds one allocation. It does not use the caller's context,
// since others share it.
const allocateTimeout = 15 * time.Second

// allocate returns moments, Numbers and ranks. They come from tx where the small
// pool must not be used inside a transaction.
func (k *allocator) allocate(ctx context.Context, tx *db.Tx, n demand) (allocation, error) {
	if !k.db.Dialect.SmallInside {
		t := &waiter{demand: n}
		err := k.advance(ctx, []*waiter{t}, func(fn func(*db.Tx) error) error {
			return tx.Savepoint(ctx, func() error { return fn(tx) })
		})
		return t.got, err
	}
	t := &waiter{demand: n, done: make(chan struct{})}
	k.mu.Lock()
	k.waiting = append(k.waiting, t)
	lead := !k.running
	k.running = true
	k.mu.Unlock()
	if lead {
		go k.serve(context.WithoutCancel(ctx))
	}
	select {
	case <-t.done:
		return t.got, t.err
	case <-ctx.Done(): // its allocation is left unused
		return allocation{}, db.Fault(ctx.Err())
	}
}

// serve allocates for all waiters until there are none.
func (k *allocator) serve(ctx context.Context) {
	for {
		k.mu.Lock()
		batch := k.waiting
		k.waiting = nil
		if len(batch) == 0 {
			k.running = false
			k.mu.Unlock()
			return
		}
		k.mu.Unlock()
		k.once(ctx, batch)
	}
}

func (k *allocator) once(ctx context.Context, batch []*waiter) {
	ctx, cancel := context.WithTimeout(ctx, allocateTimeout)
	defer cancel()
	err := k.advance(ctx, batch, func(fn func(*db.Tx) error) error { return k.db.Small(ctx, fn) })
	for _, t := range batch {
		t.err = err
		close(t.done)
	}
}

// advance advances the sequences, after it has created those that do not exist.
// inTx runs a function in a transaction or under a savepoint.
func (k *allocator) advance(ctx context.Context, batch []*waiter, inTx func(func(*db.Tx) error) error) error {
	err := inTx(func(tx *db.Tx) error { return advanceAll(ctx, tx, batch) })
	if !errors.Is(err, errNoSequence) {
		return err
	}
	if err := inTx(func(tx *db.Tx) error { return createSequences(ctx, tx, batch) }); err != nil {
		return err
	}
	return inTx(func(tx *db.Tx) error { return advanceAll(ctx, tx, batch) })
}

// errNoSequence reports that a sequence of Numbers or ranks does not exist yet.
var errNoSequence = errors.New("a sequence is missing")

// firstNumber is where the Numbers of a type start.
const firstNumber = 1001

// createSequences creates the missing sequences: Numbers from the first on, ranks
// above those in use. A row that another process made meanwhile is left alone.
func createSequences(ctx context.Context, tx *db.Tx, batch []*waiter) error {
	names, _ := sequencesOf(batch)
	values := make([]int64, len(names))
	for i, name := range names {
		types, ranks := rankedBy(batch, name)
		if !ranks {
			values[i] = firstNumber - 1
			continue
		}
		var err error
		if values[i], err = firstRankValue(ctx, tx, types); err != nil {
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

// rankedBy returns the codes of the types that share a sequence of ranks, as the
// model of a waiter that needs it says.
func rankedBy(batch []*waiter, sequence string) (types []int64, ok bool) {
	for _, t := range batch {
		if t.demand.others[sequence] == 0 {
			continue
		}
		if types, ok = t.demand.ranked[sequence]; ok {
			return types, true
		}
	}
	return nil, false
}

// firstRankValue is the first value of the sequence of ranks that some types
// share.
func firstRankValue(ctx context.Context, tx *db.Tx, types []int64) (int64, error) {
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

// sequencesOf returns the sequences that the waiters need besides the moments, in
// order, and how far each advances.
func sequencesOf(batch []*waiter) (names []string, by map[string]int64) {
	by = map[string]int64{}
	for _, t := range batch {
		for name, n := range t.demand.others {
			by[name] += n
		}
	}
	return slices.Sorted(maps.Keys(by)), by
}

// advanceAll advances the sequences once for all waiters, by one statement: the
// server locks its rows in the order of their key, the same in every process. The
// moments are stamped with the database's clock, of which only the greatest value
// counts.
func advanceAll(ctx context.Context, tx *db.Tx, batch []*waiter) error {
	var moments int64
	for _, t := range batch {
		moments += t.demand.moments
	}
	names, by := sequencesOf(batch)
	in, args := db.InArgs(append([]string{"moment"}, names...))
	set, steps := `CASE name WHEN 'moment' THEN ?`, []any{moments}
	for _, name := range args[1:] { // those that fill the list, too: few statements
		set += ` WHEN ? THEN ?`
		steps = append(steps, name, by[name.(string)])
	}
	r, err := tx.Exec(ctx, `UPDATE sequence SET value = value + `+set+` END, stamped_at = CASE name WHEN 'moment' THEN `+
		tx.Dialect().Greatest+`(stamped_at, `+tx.Dialect().NowMillis+`) ELSE stamped_at END WHERE name IN `+in, append(steps, args...)...)
	if err != nil {
		return fmt.Errorf("allocate moments and numbers: %w", err)
	}
	if moved, err := r.RowsAffected(); err != nil || moved < int64(1+len(names)) {
		return errors.Join(err, errNoSequence)
	}
	return handOut(ctx, tx, batch, in, args)
}

// handOut gives each waiter its part.
func handOut(ctx context.Context, tx *db.Tx, batch []*waiter, in string, args []any) error {
	last, at := map[string]int64{}, int64(0)
	err := db.Each(ctx, tx, `SELECT name, value, stamped_at FROM sequence WHERE name IN `+in, args, func(scan db.Scanner) error {
		var name string
		var value, stamped int64
		err := scan.Scan(&name, &value, &stamped)
		last[name], at = value, max(at, stamped)
		return err
	})
	if err != nil {
		return fmt.Errorf("read sequences: %w", err)
	}
	if _, err := tx.Exec(ctx, `INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, last["moment"], at); err != nil {
		return fmt.Errorf("stamp moments: %w", err)
	}
	for _, t := range slices.Backward(batch) {
		t.got = allocation{moment: last["moment"] - t.demand.moments + 1, at: at, first: make(map[string]int64, len(t.demand.others))}
		last["moment"] -= t.demand.moments
		for name, n := range t.demand.others {
			last[name] -= n
			t.got.first[name] = last[name] + 1
		}
	}
	return nil
}

// numberText spells a Number: the prefix and at least five digits.
func numberText(prefix string, n int64) string {
	b := append(make([]byte, 0, len(prefix)+8), prefix...)
	for limit := int64(10000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}
