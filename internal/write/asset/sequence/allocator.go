package sequence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/write/asset/rank"
)

// Demand contains how many values a batch needs from each sequence. A batch allocates them
// after it has locked its assets.
type Demand struct {
	Moments int64              // number of moments
	Others  map[string]int64   // key: name of a sequence of Numbers or of ranks; value: how much to add to the sequence
	Ranked  map[string][]int64 // key: name of a sequence of ranks; value: codes of the types that share the sequence
}

// Allocation contains the first value of each sequence of a Demand, and the time of the
// moments.
type Allocation struct {
	Moment int64            // the first moment
	At     int64            // UTC microseconds, a multiple of 1000, because ChangeDate prints milliseconds
	First  map[string]int64 // key: sequence; value: the first value that was allocated from it
}

// Allocator allocates values for concurrent batches of this process in one short transaction.
// Batches that arrive while a transaction runs wait and share the next transaction.
type Allocator struct {
	db      *db.DB
	mu      sync.Mutex
	running bool
	waiting []*waiter
}

// New returns an allocator for a database.
func New(d *db.DB) *Allocator { return &Allocator{db: d} }

type waiter struct {
	demand Demand
	got    Allocation
	err    error
	done   chan struct{}
}

// allocateTimeout limits one allocation. An allocation does not end with the context of one
// caller, because other callers share it.
const allocateTimeout = 15 * time.Second

// Allocate allocates moments, Numbers and ranks. If Dialect.SmallInside is false, it uses tx.
// Otherwise it uses a separate transaction that concurrent batches share.
func (k *Allocator) Allocate(ctx context.Context, tx *db.Tx, n Demand) (Allocation, error) {
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
	case <-ctx.Done(): // the values for this waiter stay unused
		return Allocation{}, sqlerror.Fault(ctx.Err())
	}
}

// serve allocates values for the waiters until no waiter is left.
func (k *Allocator) serve(ctx context.Context) {
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

func (k *Allocator) once(ctx context.Context, batch []*waiter) {
	ctx, cancel := context.WithTimeout(ctx, allocateTimeout)
	defer cancel()
	err := k.advanceAll(ctx, nil, batch)
	for _, t := range batch {
		t.err = err
		close(t.done)
	}
}

// firstNumber is the first Number of a type.
const firstNumber = 1001

// createSequences creates sequences. Sequences of Numbers begin with firstNumber, and sequences
// of ranks begin above the greatest rank in use. A row that another process has created meanwhile is
// not changed.
func createSequences(ctx context.Context, tx *db.Tx, batch []*waiter, names []string) error {
	values := make([]int64, len(names))
	for i, name := range names {
		types, ranks := rankedBy(batch, name)
		if !ranks {
			values[i] = firstNumber - 1
			continue
		}
		var err error
		if values[i], err = rank.FirstValue(ctx, tx, types); err != nil {
			return err
		}
	}
	row := []any{nil, nil, int64(0)}
	columns, keys := []string{"name", "value", "stamped_at"}, []string{"name"}
	err := db.UpsertN(ctx, tx, "sequence", columns, keys, nil, len(names), func(i int) []any {
		row[0], row[1] = names[i], values[i]
		return row
	})
	if err != nil {
		return fmt.Errorf("begin sequences: %w", err)
	}
	return nil
}

// rankedBy returns the codes of the types that share a sequence of ranks. Waiters may have
// different models, and the first waiter that needs the sequence decides. ok is false for a
// sequence of Numbers.
func rankedBy(batch []*waiter, sequence string) (types []int64, ok bool) {
	for _, t := range batch {
		if t.demand.Others[sequence] == 0 {
			continue
		}
		if types, ok = t.demand.Ranked[sequence]; ok {
			return types, true
		}
	}
	return nil, false
}

// sequencesOf returns the names of the sequences that the waiters need in addition to the
// moments, sorted. The map by contains how much to add to each sequence.
func sequencesOf(batch []*waiter) (names []string, by map[string]int64) {
	by = map[string]int64{}
	for _, t := range batch {
		for name, n := range t.demand.Others {
			by[name] += n
		}
	}
	return slices.Sorted(maps.Keys(by)), by
}

// advanceAll increases each sequence once for all waiters, and creates missing sequences.
func (k *Allocator) advanceAll(ctx context.Context, tx *db.Tx, batch []*waiter) error {
	var moments int64
	for _, t := range batch {
		moments += t.demand.Moments
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

// begin creates sequences and increases them. It returns their last values.
func (k *Allocator) begin(
	ctx context.Context, tx *db.Tx, batch []*waiter, names []string, by map[string]int64,
) (last map[string]int64, err error) {
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

// momentSequence is the name of the sequence of moments. The column stamped_at of its row is
// the time of the last moment, by the database's clock.
const momentSequence = "moment"

// move increases the named sequences that exist, and then the sequence of moments if moments is
// not 0. It returns the last value of each increased sequence, and the time of the moments. If tx
// is nil, move sends all statements to the database server at once, as a separate transaction. The
// row of the moments, which all writers need, is then not locked during a round trip.
func (k *Allocator) move(
	ctx context.Context, tx *db.Tx, moments int64, names []string, by map[string]int64,
) (last map[string]int64, at int64, err error) {
	last = make(map[string]int64, len(names)+1)
	if tx != nil {
		for _, name := range names {
			first, err := Advance(ctx, tx, name, by[name])
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
	for _, name := range names { // sorted: every process locks the rows in the same order
		const update = `UPDATE sequence SET value = LAST_INSERT_ID(value + ?) WHERE name = ?`
		statements = append(statements, db.Statement{Query: update, Args: []any{by[name], name}})
	}
	if moments > 0 { // the last statement, so that its row is locked for the shortest time
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
			return nil, 0, errors.New("the sequence of moments is missing")
		}
		last[momentSequence], at = unpackMoment(ids[len(names)], time.Now())
	}
	return last, at, nil
}

// stampMoments adds n to the sequence of moments, in a transaction. It returns the last
// moment and its time by the database's clock. If that clock was set back, the time of the
// earlier moments is used, so times never decrease.
func stampMoments(ctx context.Context, tx *db.Tx, n int64) (last, at int64, err error) {
	d := tx.Dialect()
	err = tx.QueryRow(ctx, `UPDATE sequence SET value = value + ?,`+
		` stamped_at = `+d.Greatest+`(stamped_at, `+d.NowMillis+`) WHERE name = ?`+
		` RETURNING value, stamped_at`, n, momentSequence).Scan(&last, &at)
	return last, at, err
}

// stampBits is the number of bits in which takeMoments returns a time in milliseconds. These low
// bits repeat every 49 days.
const stampBits = 32

// takeMoments returns a statement that does the same as stampMoments. Its LAST_INSERT_ID contains
// the last moment in the upper bits, and the time of that moment in the lower stampBits bits. The
// statement computes the time twice instead of using the assigned value. The reason: on some
// database servers an assignment uses the result of an earlier assignment, and on others it does not.
func takeMoments(d *db.Dialect, n int64) db.Statement {
	stamp := d.Greatest + `(stamped_at, ` + d.NowMillis + `)`
	return db.Statement{
		Query: `UPDATE sequence SET stamped_at = ` + stamp + `,` +
			` value = LAST_INSERT_ID((value + ?) * 4294967296 + (` + stamp + ` DIV 1000) MOD 4294967296)` +
			` DIV 4294967296 WHERE name = ?`,
		Args: []any{n, momentSequence},
	}
}

// unpackMoment returns the moment and its time, in UTC microseconds, from the result of
// takeMoments. Of the times that have the same low bits, it returns the one nearest to now.
func unpackMoment(packed int64, now time.Time) (last, at int64) {
	const period = 1 << stampBits
	last = packed >> stampBits
	ms := now.UnixMilli()
	ago := (ms - packed) & (period - 1) // only the low bits are known
	if ago >= period/2 {
		ago -= period
	}
	return last, (ms - ago) * 1000
}

// handOut sets the allocation of each waiter. last contains the last value of each sequence.
func handOut(batch []*waiter, last map[string]int64, at int64) {
	for _, t := range slices.Backward(batch) {
		t.got = Allocation{
			Moment: last[momentSequence] - t.demand.Moments + 1, At: at,
			First: make(map[string]int64, len(t.demand.Others)),
		}
		last[momentSequence] -= t.demand.Moments
		for name, n := range t.demand.Others {
			last[name] -= n
			t.got.First[name] = last[name] + 1
		}
	}
}
