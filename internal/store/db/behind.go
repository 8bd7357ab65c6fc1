package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// behindPause is how long a write waits for a node where the session cannot ask it to
// catch up.
const behindPause = 200 * time.Millisecond

// errMissed ends a transaction that has missed something on a node which may lack it.
var errMissed = errors.New("the node may lack what another node has committed")

// Missed notes that a write has looked for something in vain. Where several nodes of a
// cluster take writes, the node may not have applied yet what another one has committed:
// Write then rolls the transaction back and runs its function once more, when the node
// has caught up. Elsewhere, and where q is no write transaction, it does nothing.
func Missed(q Querier) {
	if t, ok := q.(*Tx); ok {
		t.missed = true
	}
}

// catchesUp returns the variable of a session, and its value, with which a statement waits
// until its node has applied all that the cluster has committed. It is empty for a server
// that has all writes itself.
func (d *DB) catchesUp() (variable, value string) {
	known := d.engine.Load()
	switch {
	case known == nil:
	case known.facts.galera():
		return "wsrep_sync_wait", "1"
	case strings.EqualFold(known.facts["group_replication_single_primary_mode"], "OFF"):
		return "group_replication_consistency", "'BEFORE'"
	}
	return "", ""
}

// mayBeBehind reports whether a transaction has missed something that its node may lack.
func (t *Tx) mayBeBehind(ctx context.Context) bool {
	if !t.missed || t.aborted != nil || ctx.Err() != nil {
		return false
	}
	variable, _ := t.d.catchesUp()
	return variable != ""
}

// catchUp waits until the node of a connection has applied what the cluster had committed
// when it was called. Transactions that follow see that.
func (d *DB) catchUp(ctx context.Context, conn *sql.Conn) error {
	variable, value := d.catchesUp()
	_, err := conn.ExecContext(ctx, "SET SESSION "+variable+" = "+value)
	if err == nil {
		var n int64 // a table has to be read, or nothing is waited for
		err = conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM sequence WHERE name = 'release'").Scan(&n)
		if _, back := conn.ExecContext(context.WithoutCancel(ctx), "SET SESSION "+variable+" = DEFAULT"); back != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else gets the connection
			return errors.Join(err, back)
		}
	}
	if my, ok := errors.AsType[*mysql.MySQLError](err); !ok || classOf(my) != other {
		return err
	}
	d.log.Debug("the node is not asked to catch up", "err", err)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(behindPause):
		return nil
	}
}
