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

// The rows of write_lock keep writes of assets apart from changes of the model and of the
// subscriptions. A write locks one row, and a change locks all rows. So writes do not wait for
// each other. A change waits for the writes that have locked a row, and later writes wait for
// the change.

// writeSlots is the number of rows of write_lock. A write locks the row of its connection. A
// connection has one transaction at a time. So two writes of a process only wait for each other if
// the process has more connections than there are rows.
const writeSlots = 256

// slotOffset is random. Processes that are connected to different servers may have the same
// connection numbers. With different offsets they lock different rows.
var slotOffset = rand.IntN(writeSlots)

// LockWrite locks the row of write_lock that belongs to the connection of a write. Until the
// transaction ends, the model and the subscriptions do not change. LockWrite must be the last lock
// of a transaction, except for NoteWrite.
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

// raiseSlots is the statement that changes each row of write_lock, and creates missing rows.
var raiseSlots = func() string {
	rows := make([]string, writeSlots)
	for i := range rows {
		rows[i] = "(" + strconv.Itoa(i) + ", 1)"
	}
	return `INSERT INTO write_lock (slot, lock_count) VALUES ` + strings.Join(rows, ", ") + raiseSlot
}()

// LockWrites locks all rows of write_lock, in order, until the transaction ends. When it returns,
// all writes that had locked a row before are committed, and the next statements of the transaction
// see them. Later writes wait, and then see the changes of the transaction.
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

// The number of rows of member_write per member, and for everyMember. A write changes one of these
// rows, which the connection of the write selects. More rows would make Position slow. With fewer
// rows, the writes of a member would wait for each other.
const (
	memberSlots    = "64"
	everybodySlots = "8"
)

// readElsewhere is the name of a row in the table sequence. The row exists once a process reads
// elsewhere, that is, from a replica. Before that, writes are not counted.
const readElsewhere = "read_elsewhere"

// ReadElsewhere must be called before a process reads elsewhere, that is, from a replica. From then
// on writes are counted. ReadElsewhere writes the row readElsewhere and raises the model's
// generation. Raise waits for the uncounted writes, so all of them are committed before the row.
// Therefore a replica that has the row also has these writes. Position counts the row as one write.
// All writes after the row are counted.
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

// readsElsewhere reports whether q sees the row readElsewhere.
func readsElsewhere(ctx context.Context, q db.Querier) (bool, error) {
	var value int64
	err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, readElsewhere).Scan(&value)
	if fault.KindOf(err) == fault.NotFound {
		return false, nil
	}
	return err == nil, err
}

// NoteWrite counts a write of a member for Position, in the transaction of the write. If everybody
// is true, it counts the write for everyMember, too. Its statement is sent together with the next
// statement. The transaction must already have LockWrite and all other locks.
func NoteWrite(ctx context.Context, tx *db.Tx, member int64, everybody bool) error {
	if tx.Dialect().IsAlone {
		return nil // there are no replicas, so no process reads elsewhere
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

// Position is a query for the number of writes of a member and of everyMember. Its argument is the
// member. If a replica applies writes in commit order and returns at least the number that the
// writer has returned, the replica has all of these writes.
var Position = fmt.Sprintf(`SELECT COALESCE(SUM(writes), 0) + (SELECT COUNT(*) FROM sequence WHERE name = '%s') FROM member_write WHERE member_id IN (?, %d)`, readElsewhere, everyMember)

// Progress is a query for the number of all writes.
const Progress = `SELECT COALESCE(SUM(lock_count), 0) FROM write_lock`
