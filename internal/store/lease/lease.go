package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of a claim.
const (
	Duration   = 6 * time.Second // how long a lease lasts without a renewal
	RenewEvery = 2 * time.Second
	MaxClaims  = 5 // number of claims after which GiveUp changes a row
)

// ErrLost is the error of a worker whose claim has ended before its work.
var ErrLost = errors.New("the lease is lost")

// Conn is a *db.DB or a *db.Tx.
type Conn interface {
	db.Querier
	db.Execer
}

// Table is a table of work items with the key id. It is safe for concurrent use.
type Table[ID int64 | string] struct {
	// Pause is how long a row cannot be claimed after the end of its second lease. After each later
	// lease it waits for one Pause more. If a row crashes the processes of its workers, the workers
	// can finish other rows during these pauses.
	Pause time.Duration

	db                         *db.DB
	name, owner, until, claims string
	open                       string
	renewEvery                 time.Duration // RenewEvery; less in tests
}

// New returns a table of d. Its columns are prefix+"owner", prefix+"lease" and
// prefix+"claims"; open is the condition of the rows that are not done.
func New[ID int64 | string](d *db.DB, name, prefix, open string) *Table[ID] {
	return &Table[ID]{db: d, name: name, owner: prefix + "owner", until: prefix + "lease", claims: prefix + "claims", open: open, renewEvery: RenewEvery}
}

// Claim claims the open rows among ids that have no lease, and returns them.
func (t *Table[ID]) Claim(ctx context.Context, c Conn, owner string, ids []ID) ([]ID, error) {
	set := t.owner + " = ?, " + t.claims + " = " + t.claims + " + 1, " + t.until + " = " + t.db.Dialect.NowMicros + " + ?"
	n, err := t.exec(ctx, c, set, []any{owner, Duration.Microseconds()}, ids, t.Free())
	if err != nil || n == len(ids) {
		return ids, err
	}
	return t.held(ctx, c, allOf(owner, ids), ids)
}

// Renew extends the leases of the owner's rows among ids, and returns those rows.
func (t *Table[ID]) Renew(ctx context.Context, owner string, ids []ID) (held []ID, err error) {
	return t.RenewEach(ctx, allOf(owner, ids))
}

// RenewEach extends the leases of rows, and returns the rows that still have their owner. owners
// maps the id of each row to its owner.
func (t *Table[ID]) RenewEach(ctx context.Context, owners map[ID]string) (held []ID, err error) {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(owners)), db.MaxIn) {
		some, failed := t.renew(ctx, owners, part)
		held, err = append(held, some...), errors.Join(err, failed)
	}
	return held, err
}

func (t *Table[ID]) renew(ctx context.Context, owners map[ID]string, ids []ID) ([]ID, error) {
	ctx, cancel := context.WithTimeout(ctx, RenewEvery)
	defer cancel()
	where, args := t.ownedBy(owners, ids)
	n, err := t.exec(ctx, t.db, t.until+" = "+t.db.Dialect.NowMicros+" + ?", []any{Duration.Microseconds()}, ids, where, args...)
	if err != nil || n == len(ids) {
		return ids, err
	}
	return t.held(ctx, t.db, owners, ids)
}

// allOf returns a map from ids to owners, as RenewEach needs it, for rows that all have the same
// owner.
func allOf[ID int64 | string](owner string, ids []ID) map[ID]string {
	owners := make(map[ID]string, len(ids))
	for _, id := range ids {
		owners[id] = owner
	}
	return owners
}

// ownedBy returns the condition that a row has one of the owners of ids. There are at most db.MaxIn
// ids. The condition does not compare each row with exactly its own owner. This comparison is not
// needed if owners has the last owner of every row that the caller has claimed. An owner claims all
// its rows at once, so the caller has the right owner for all of them.
func (t *Table[ID]) ownedBy(owners map[ID]string, ids []ID) (where string, args []any) {
	named := make([]string, len(ids))
	for i, id := range ids {
		named[i] = owners[id]
	}
	slices.Sort(named)
	in, args := db.InArgs(slices.Compact(named))
	return t.owner + " IN " + in, args
}

// AutoRenew renews leases until stop is called or all leases are lost. report is called with each
// failure, and with ErrLost when all leases are lost.
func (t *Table[ID]) AutoRenew(ctx context.Context, owner string, ids []ID, report func(error)) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(t.renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			held, err := t.Renew(ctx, owner, ids)
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && len(held) == 0:
				report(ErrLost)
				return
			case err != nil:
				report(err)
			}
		}
	}()
	return stop
}

// Update sets columns of rows that the owner has claimed.
// Errors: ErrLost if the owner does not have all of the rows. Then Update has changed the rows that
// the owner has.
func (t *Table[ID]) Update(ctx context.Context, e db.Execer, owner string, ids []ID, set string, args ...any) error {
	n, err := t.exec(ctx, e, set, args, ids, t.owner+" = ?", owner)
	if err == nil && n < len(ids) {
		err = ErrLost
	}
	return err
}

// Finish sets columns of open rows that nobody has claimed.
// Errors: ErrLost if some rows are claimed or not open. Then Finish has changed the other rows.
func (t *Table[ID]) Finish(ctx context.Context, e db.Execer, ids []ID, set string, args ...any) error {
	n, err := t.exec(ctx, e, set, args, ids, t.Free())
	if err == nil && n < len(ids) {
		err = ErrLost
	}
	return err
}

// Release ends claims at once, and subtracts them from the counts of the rows. It also works after
// ctx has ended.
func (t *Table[ID]) Release(ctx context.Context, owner string, ids []ID) error {
	return t.ReleaseEach(ctx, allOf(owner, ids))
}

// ReleaseEach is like Release, for rows with different owners. owners maps the id of each row to
// its owner.
func (t *Table[ID]) ReleaseEach(ctx context.Context, owners map[ID]string) (err error) {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(owners)), db.MaxIn) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RenewEvery)
		where, args := t.ownedBy(owners, part)
		n, failed := t.exec(ctx, t.db, t.owner+" = NULL, "+t.until+" = 0, "+t.claims+" = "+t.claims+" - 1", nil, part, where, args...)
		if failed == nil && n < len(part) {
			failed = ErrLost
		}
		err = errors.Join(err, failed)
		cancel()
	}
	return err
}

// Retry ends claims, but does not subtract them from the counts of the rows. The rows can be
// claimed again after the pause.
func (t *Table[ID]) Retry(ctx context.Context, owner string, ids []ID, pause time.Duration) error {
	return t.Update(ctx, t.db, owner, ids, t.owner+" = NULL, "+t.until+" = "+t.db.Dialect.NowMicros+" + ?", pause.Microseconds())
}

// GiveUp sets columns of the open rows among ids that were claimed at least MaxClaims times and
// have no lease. It returns the number of these rows.
func (t *Table[ID]) GiveUp(ctx context.Context, e db.Execer, ids []ID, set string, args ...any) (int, error) {
	return t.exec(ctx, e, set, args, ids, t.claims+" >= ? AND "+t.Free(), MaxClaims)
}

// Free returns the SQL condition for open rows that can be claimed.
func (t *Table[ID]) Free() string {
	free := t.until + " <= " + t.db.Dialect.NowMicros
	if t.Pause > 0 {
		free += fmt.Sprintf(" - CASE WHEN %s > 1 THEN (%[1]s - 1) * %d ELSE 0 END", t.claims, t.Pause.Microseconds())
	}
	return free
}

// exec updates the open rows among ids that meet a condition.
func (t *Table[ID]) exec(ctx context.Context, e db.Execer, set string, values []any, ids []ID, where string, args ...any) (int, error) {
	total := 0
	for in, keys := range db.InChunks(ids) {
		all := slices.Concat(values, keys, args)
		res, err := e.Exec(ctx, "UPDATE "+t.name+" SET "+set+" WHERE id IN "+in+" AND "+t.open+" AND "+where, all...)
		if err != nil {
			return total, err
		}
		n, err := res.RowsAffected()
		if err != nil {
			return total, err
		}
		total += int(n)
	}
	return total, nil
}

// held returns the open rows among ids that still have their owners.
func (t *Table[ID]) held(ctx context.Context, q db.Querier, owners map[ID]string, ids []ID) ([]ID, error) {
	var held []ID
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, q, "SELECT id, "+t.owner+" FROM "+t.name+" WHERE id IN "+in+" AND "+t.open+" AND "+t.owner+" IS NOT NULL", args, func(row db.Scanner) error {
			var id ID
			var owner string
			err := row.Scan(&id, &owner)
			if owner == owners[id] {
				held = append(held, id)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return held, nil
}
