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

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
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
// used inside a transaction the block is reserved in tx, and given up with it.
func (b *block) next(ctx context.Context, d *db.DB, tx *db.Tx, n int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end-b.first < n {
		var err error
		if d.Dialect.SmallInside {
			err = d.Small(ctx, func(tx *db.Tx) error { return b.reserve(ctx, tx, n) })
		} else if err = b.reserve(ctx, tx, n); err == nil {
			tx.OnUndo(b.giveUp)
		}
		if err != nil {
			b.first, b.end = 0, 0
			return 0, fmt.Errorf("allocate %s: %w", b.sequence, err)
		}
	}
	first := b.first
	b.first += n
	return first, nil
}

// reserve begins another block, of n ids at least.
func (b *block) reserve(ctx context.Context, tx *db.Tx, n int64) error {
	size := max(b.size, n)
	first, err := advanceSequence(ctx, tx, b.sequence, size)
	b.first, b.end = first, first+size
	return err
}

// giveUp forgets what is left of a block whose reservation was rolled back.
func (b *block) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.first, b.end = 0, 0
}

// advanceSequence moves a sequence by n and returns the first value passed.
func advanceSequence(ctx context.Context, tx *db.Tx, name string, n int64) (int64, error) {
	const update = `UPDATE sequence SET value = value + ? WHERE name = ?`
	var value int64
	if tx.Dialect().Returning {
		err := tx.QueryRow(ctx, update+` RETURNING value`, n, name).Scan(&value)
		return value - n + 1, err
	}
	if _, err := tx.Exec(ctx, update, n, name); err != nil {
		return 0, err
	}
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

// allocator lets concurrent batches of this process take together, in one short
// transaction: those that come while one is running wait for the next, which allocates
// for all of them.
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
		err := k.advanceAll(ctx, tx, []*waiter{t})
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
	err := k.advanceAll(ctx, nil, batch)
	for _, t := range batch {
		t.err = err
		close(t.done)
	}
}

// firstNumber is where the Numbers of a type start.
const firstNumber = 1001

// createSequences creates sequences: Numbers from the first on, ranks above those in
// use. A row that another process made meanwhile is left alone.
func createSequences(ctx context.Context, tx *db.Tx, batch []*waiter, names []string) error {
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

// advanceAll advances the sequences once for all waiters, and creates those that do
// not exist.
func (k *allocator) advanceAll(ctx context.Context, tx *db.Tx, batch []*waiter) error {
	var moments int64
	for _, t := range batch {
		moments += t.demand.moments
	}
	names, by := sequencesOf(batch)
	last, at, err := k.move(ctx, tx, moments, names, by)
	if err != nil {
		return fmt.Errorf("allocate moments and numbers: %w", err)
	}
	missing := slices.DeleteFunc(names, func(name string) bool { _, moved := last[name]; return moved })
	if len(missing) > 0 {
		others, err := k.begin(ctx, tx, batch, missing, by)
		if err != nil {
			return fmt.Errorf("allocate the first numbers: %w", err)
		}
		maps.Copy(last, others)
	}
	handOut(batch, last, at)
	return nil
}

// begin creates sequences and moves them.
func (k *allocator) begin(ctx context.Context, tx *db.Tx, batch []*waiter, names []string, by map[string]int64) (last map[string]int64, err error) {
	if tx != nil {
		if err := createSequences(ctx, tx, batch, names); err != nil {
			return nil, err
		}
	} else if err := k.db.Small(ctx, func(tx *db.Tx) error { return createSequences(ctx, tx, batch, names) }); err != nil {
		return nil, err
	}
	last, _, err = k.move(ctx, tx, 0, names, by)
	return last, err
}

// momentSequence is the sequence of moments, which is stamped with the database's clock.
const momentSequence = "moment"

// move moves the named sequences that exist and then the moments, where there are any,
// and returns what they are then, and the stamp of the moments. tx is nil where it is
// done in a transaction of its own: one that the server gets at once, so that it keeps
// the row that all writers take from for no way between the two.
func (k *allocator) move(ctx context.Context, tx *db.Tx, moments int64, names []string, by map[string]int64) (last map[string]int64, at int64, err error) {
	last = make(map[string]int64, len(names)+1)
	if tx != nil {
		for _, name := range names {
			first, err := advanceSequence(ctx, tx, name, by[name])
			if fault.KindOf(err) == fault.NotFound {
				continue
			}
			if err != nil {
				return nil, 0, err
			}
			last[name] = first + by[name] - 1
		}
		if moments > 0 {
			last[momentSequence], at, err = stampMoments(ctx, tx, moments)
		}
		return last, at, err
	}
	statements := make([]db.Statement, 0, len(names)+1)
	for _, name := range names { // in order: the same in every process
		statements = append(statements, db.Statement{Query: `UPDATE sequence SET value = LAST_INSERT_ID(value + ?) WHERE name = ?`, Args: []any{by[name], name}})
	}
	if moments > 0 { // last: its row is held for the shortest time
		statements = append(statements, takeMoments(k.db.Dialect, moments))
	}
	rows, ids, err := k.db.Together(ctx, statements...)
	if err != nil {
		return nil, 0, err
	}
	for i, name := range names {
		if rows[i] > 0 {
			last[name] = ids[i]
		}
	}
	if moments > 0 {
		if rows[len(names)] == 0 {
			return nil, 0, errors.New("there is no sequence of moments")
		}
		last[momentSequence], at = unpackMoment(ids[len(names)], time.Now())
	}
	return last, at, nil
}

// stampMoments moves the moments in a transaction, and stamps them with the database's
// clock, of which only the greatest value counts.
func stampMoments(ctx context.Context, tx *db.Tx, n int64) (last, at int64, err error) {
	d := tx.Dialect()
	err = tx.QueryRow(ctx, `UPDATE sequence SET value = value + ?, stamped_at = `+d.Greatest+`(stamped_at, `+d.NowMillis+`) WHERE name = ?`+
		` RETURNING value, stamped_at`, n, momentSequence).Scan(&last, &at)
	return last, at, err
}

// stampBits are those of an instant in milliseconds that fit beside a moment into what
// one statement answers: they pass in 49 days.
const stampBits = 32

// takeMoments is stampMoments as a statement by itself: it answers the last moment and
// the stamp as one number. The stamp is computed twice, since servers differ in whether
// an assignment sees the one before it.
func takeMoments(d *db.Dialect, n int64) db.Statement {
	stamp := d.Greatest + `(stamped_at, ` + d.NowMillis + `)`
	return db.Statement{
		Query: `UPDATE sequence SET stamped_at = ` + stamp + `,` +
			` value = LAST_INSERT_ID((value + ?) * 4294967296 + (` + stamp + ` DIV 1000) MOD 4294967296) DIV 4294967296 WHERE name = ?`,
		Args: []any{n, momentSequence},
	}
}

// unpackMoment returns the moment and the stamp, in UTC microseconds, of what takeMoments
// answered: of the instants that the number may mean, the one that is nearest to now.
func unpackMoment(packed int64, now time.Time) (last, at int64) {
	const period = 1 << stampBits
	last = packed >> stampBits
	ms := now.UnixMilli()
	ago := (ms - packed) & (period - 1) // of both only these bits count
	if ago >= period/2 {
		ago -= period
	}
	return last, (ms - ago) * 1000
}

// handOut gives each waiter its part of what the sequences have moved.
func handOut(batch []*waiter, last map[string]int64, at int64) {
	for _, t := range slices.Backward(batch) {
		t.got = allocation{moment: last[momentSequence] - t.demand.moments + 1, at: at, first: make(map[string]int64, len(t.demand.others))}
		last[momentSequence] -= t.demand.moments
		for name, n := range t.demand.others {
			last[name] -= n
			t.got.first[name] = last[name] + 1
		}
	}
}

// numberText spells a Number: the prefix and at least five digits.
func numberText(prefix string, n int64) string {
	b := append(make([]byte, 0, len(prefix)+8), prefix...)
	for limit := int64(10000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, n, 10))
}
