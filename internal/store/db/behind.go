package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// behindPause is how long a write waits for its node to catch up if the server does not accept the
// variable of catchesUp.
const behindPause = 200 * time.Millisecond

// errMissed ends a transaction that did not find something on a cluster node. Another node may have
// committed it already.
var errMissed = errors.New("the node may lack what another node has committed")

// Missed records that a write did not find something that it looked for. If several nodes of a
// cluster accept writes, this node may not have applied the last commits of other nodes yet. Then
// Write rolls the transaction back, waits until the node has caught up, and runs its function once
// more. On other servers, and if q is not a write transaction, Missed has no effect.
func Missed(q Querier) {
	if t, ok := q.(*Tx); ok {
		t.missed = true
	}
}

// catchesUp returns the results of engine.Engine.CatchesUp for the server. Both are empty before
// the first call of Engine.
func (d *DB) catchesUp() (variable, value string) {
	if known := d.engine.Load(); known != nil {
		return known.CatchesUp()
	}
	return "", ""
}

// mayBeBehind reports whether a transaction did not find something that its node may not have yet.
func (t *Tx) mayBeBehind(ctx context.Context) bool {
	if !t.missed || t.aborted != nil || ctx.Err() != nil {
		return false
	}
	variable, _ := t.d.catchesUp()
	return variable != ""
}

// catchUp waits until the node of a connection has applied everything that the cluster had
// committed before the call. Later transactions on the connection see these commits.
func (d *DB) catchUp(ctx context.Context, conn *sql.Conn) error {
	variable, value := d.catchesUp()
	_, err := conn.ExecContext(ctx, "SET SESSION "+variable+" = "+value)
	if err == nil {
		var n int64 // the server only waits in a statement that reads a table
		err = conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM sequence WHERE name = 'release'").Scan(&n)
		if _, back := conn.ExecContext(context.WithoutCancel(ctx), "SET SESSION "+variable+" = DEFAULT"); back != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // the pool closes the connection
			return errors.Join(err, back)
		}
	}
	if !sqlerror.FromServer(err) || sqlerror.ClassOf(err) != sqlerror.Other {
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
