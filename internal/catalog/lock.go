package catalog

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
)

// Writes of assets are ordered against changes of what they go by, the model and the
// subscriptions, by the rows of write_lock: a write takes one of them and a change takes
// all, so that writes do not wait for each other, and a change waits for the writes that
// have begun to commit, as they do for it.

// writeSlots are the rows. A write takes that of its connection, which has one transaction
// at a time: two writes of a process meet only where it has more connections.
const writeSlots = 256

// slotOffset keeps processes apart whose connections have the same numbers, each at a
// server of its own.
var slotOffset = rand.IntN(writeSlots)

// LockWrite takes the row of a write until the transaction ends: the model and the
// subscriptions that a statement behind it reads stay as they are. It is the last of
// the locks that a transaction takes.
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

// raiseSlots raises each row, and makes those that are missing.
var raiseSlots = func() string {
	rows := make([]string, writeSlots)
	for i := range rows {
		rows[i] = "(" + strconv.Itoa(i) + ", 1)"
	}
	return `INSERT INTO write_lock (slot, lock_count) VALUES ` + strings.Join(rows, ", ") + raiseSlot
}()

// LockWrites takes the rows of all writes, in order, until the transaction ends: what has
// taken one before is committed and seen by what the transaction reads from now on,
// and what comes behind waits, and finds what the transaction has changed.
func LockWrites(ctx context.Context, tx *db.Tx) error {
	if tx.Dialect().IsAlone {
		return nil
	}
	if _, err := tx.Exec(ctx, raiseSlots); err != nil {
		return fmt.Errorf("lock all writes: %w", err)
	}
	return nil
}

// Everybody is the member whose writes all others have to find in what they read: changes
// of the model, of roles, of the tree of projects and of logins.
const Everybody = 0

// The rows of member_write of one member, and of everybody. A write takes one, by its
// connection: more would make Position slow, fewer would make the writes of a member wait
// for each other.
const (
	memberSlots    = "64"
	everybodySlots = "8"
)

// readElsewhere is the row of sequence that is there once a process reads elsewhere. Until
// then writes are not counted.
const readElsewhere = "read_elsewhere"

// ReadElsewhere is called before a process reads elsewhere: from now on writes are
// counted. It raises the model's generation, so those that are not counted have committed
// before, and what has the row has them: Position counts it as one more. Who writes by a
// later generation knows that it has to count.
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

// NoteWrite counts a write of a member, in its transaction, so that Position tells where
// it is found; of everybody, too, where that is asked for. It is sent with what comes
// next, behind LockWrite and all other locks.
func NoteWrite(ctx context.Context, tx *db.Tx, member int64, everybody bool) error {
	if tx.Dialect().IsAlone {
		return nil // nobody reads elsewhere
	}
	const slot = `SELECT ?, (CONNECTION_ID() + ?) % `
	const from = `, 1 FROM sequence WHERE name = ?`
	query, args := slot+memberSlots+from, []any{member, slotOffset, readElsewhere}
	if everybody {
		query, args = query+` UNION ALL `+slot+everybodySlots+from, append(args, int64(Everybody), slotOffset, readElsewhere)
	}
	if _, err := tx.Later().Exec(ctx, `INSERT INTO member_write (member_id, slot, writes) `+query+` ON DUPLICATE KEY UPDATE writes = writes + 1`, args...); err != nil {
		return fmt.Errorf("count a write of its member: %w", err)
	}
	return nil
}

// Position is the statement that answers how many writes there are of a member, its
// argument, and of everybody: what answers no less, on a server that carries writes out
// in the order of their commits, has them all.
var Position = fmt.Sprintf(`SELECT COALESCE(SUM(writes), 0) + (SELECT COUNT(*) FROM sequence WHERE name = '%s') FROM member_write WHERE member_id IN (?, %d)`, readElsewhere, Everybody)

// Progress is the statement that answers how many writes there are at all, of whomever.
const Progress = `SELECT COALESCE(SUM(lock_count), 0) FROM write_lock`
