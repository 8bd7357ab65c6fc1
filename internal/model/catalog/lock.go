package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// The rows of write_lock order writes of assets against changes of the model and of the
// subscriptions. A write takes one row and a change takes all. So writes do not wait for each
// other. A change waits for the writes that have begun to commit, and they wait for it.

// writeSlots is the number of rows. A write takes the row of its connection. A connection has
// one transaction at a time, so two writes of a process only conflict if it has more
// connections than rows.
const writeSlots = 256

// slotOffset is random. It separates processes that are connected to different servers and
// therefore have the same connection numbers.
var slotOffset = rand.IntN(writeSlots)

// LockWrite takes the row of a write until the transaction ends. The model and the
// subscriptions that later statements read do not change until then. It must be the last lock
// that a transaction takes.
func LockWrite(ctx context.Context, tx *db.Tx) error {
	if tx.Dialect().IsAlone {
		return nil
	}
	_, err := tx.Later().Exec(ctx, `INSERT INTO write_lock (slot, lock_count) VALUES ((CONNECTION_ID() + ?) % 256, 1)`+raiseSlot, slotOffset)
	if err != nil {
		return fmt.Errorf("lock one of the writes: %w", err)
	}
	return nil
}

const raiseSlot = ` ON DUPLICATE KEY UPDATE lock_count = lock_count + 1`

// raiseSlots raises each row, and creates missing ones.
var raiseSlots = func() string {
	rows := make([]string, writeSlots)
	for i := range rows {
		rows[i] = "(" + strconv.Itoa(i) + ", 1)"
	}
	return `INSERT INTO write_lock (slot, lock_count) VALUES ` + strings.Join(rows, ", ") + raiseSlot
}()

// LockWrites takes the rows of all writes, in order, until the transaction ends. Writes that
// had a row before are then committed, and the transaction's next statements see them. Later
// writes wait, and see what the transaction has changed.
func LockWrites(ctx context.Context, tx *db.Tx) error {
	if tx.Dialect().IsAlone {
		return nil
	}
	if _, err := tx.Exec(ctx, raiseSlots); err != nil {
		return fmt.Errorf("lock all writes: %w", err)
	}
	return nil
}

// everyMember is the member id for changes that all members must see. These are changes of the
// model, of roles, of the project tree and of logins.
const everyMember = 0

// The number of rows of member_write per member, and for everyMember. A write takes one by its
// connection. More rows would make Position slow; fewer would make the writes of a member
// wait for each other.
const (
	memberSlots    = "64"
	everybodySlots = "8"
)

// readElsewhere is the row of sequence that exists once a process reads elsewhere. Before
// that, writes are not counted.
const readElsewhere = "read_elsewhere"

// ReadElsewhere is called before a process reads elsewhere; from then on writes are counted.
// It raises the model's generation, so all uncounted writes have been committed before. A
// server that has the row therefore has these writes too; Position counts the row as one more
// write. Writes with a later generation are counted.
func ReadElsewhere(ctx context.Context, d *db.DB) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		known, err := readsElsewhere(ctx, tx)
		if err != nil || known {
			return err
		}
		if err := Raise(ctx, tx); err != nil {
			return err
		}
		return db.UpsertN(ctx, tx, "sequence", []string{"name", "value", "stamped_at"}, []string{"name"}, nil, 1, func(int) []any {
			return []any{readElsewhere, 1, 0}
		})
	})
}

// readsElsewhere reports whether some process reads elsewhere, as q sees it.
func readsElsewhere(ctx context.Context, q db.Querier) (bool, error) {
	var value int64
	err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, readElsewhere).Scan(&value)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// NoteWrite counts a write of a member, in its transaction, for Position. With everybody it
// counts the write for everyMember too. It is sent with the next statement, after LockWrite and
// all other locks.
func NoteWrite(ctx context.Context, tx *db.Tx, member int64, everybody bool) error {
	if tx.Dialect().IsAlone {
		return nil // no replicas, so nothing reads elsewhere
	}
	const slot = `SELECT ?, (CONNECTION_ID() + ?) % `
	const from = `, 1 FROM sequence WHERE name = ?`
	query, args := slot+memberSlots+from, []any{member, slotOffset, readElsewhere}
	if everybody {
		query, args = query+` UNION ALL `+slot+everybodySlots+from, append(args, int64(everyMember), slotOffset, readElsewhere)
	}
	if _, err := tx.Later().Exec(ctx, `INSERT INTO member_write (member_id, slot, writes) `+query+` ON DUPLICATE KEY UPDATE writes = writes + 1`, args...); err != nil {
		return fmt.Errorf("count a write of a member: %w", err)
	}
	return nil
}

// Position is a query for the number of writes of a member, its argument, and of everyMember. A
// server that applies writes in commit order and returns no smaller number has all these
// writes.
var Position = fmt.Sprintf(`SELECT COALESCE(SUM(writes), 0) + (SELECT COUNT(*) FROM sequence WHERE name = '%s') FROM member_write WHERE member_id IN (?, %d)`, readElsewhere, everyMember)

// Progress is a query for the number of all writes.
const Progress = `SELECT COALESCE(SUM(lock_count), 0) FROM write_lock`
