package migrate

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
	schema "github.com/alds-dev/alds/sql"
)

// waitTime is how long Migrate waits for another process to finish.
const waitTime = 10 * time.Minute

// Times of the lease of the migrating process.
const (
	leaseTime = 15 * time.Second       // how long a lease lasts without a renewal; renewals come more often
	lookTime  = 250 * time.Millisecond // between two attempts of a waiting process
)

// errLeaseLost is the error of a process whose lease another process has taken.
var errLeaseLost = errors.New("another process migrates this database now: this process did not renew its lease in time, and has stopped")

// The table with the row of the lease, and the row. The table exists before any migration.
const (
	lockTable = "CREATE TABLE IF NOT EXISTS migration_lock (id INT NOT NULL, holder VARCHAR(200) NOT NULL, ends_at BIGINT NOT NULL, PRIMARY KEY (id))" +
		" ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"
	lockRow = "INSERT IGNORE INTO migration_lock (id, holder, ends_at) VALUES (1, '', 0)"
)

// lock is the lease of the migrating process: a row with the time at which the lease ends, by the
// clock of the database. The process moves this time forward while it works. GET_LOCK cannot
// replace the lease, since it locks on only one node of a cluster. A row lock cannot either: it
// ends with the first schema change, which commits the transaction.
type lock struct {
	m      *Migrations
	holder string

	mu      sync.Mutex
	renewed time.Time // from this time the lease lasts at least Migrations.lease
	lost    bool
}

// takeLock waits until no other process migrates, and takes the lease.
func (m *Migrations) takeLock(ctx context.Context) (*lock, error) {
	host, _ := os.Hostname()
	l := &lock{m: m, holder: fmt.Sprintf("%.100s, process %d, %s", host, os.Getpid(), rand.Text())}
	until, waits := time.Now().Add(m.wait), false
	for {
		taken, err := l.take(ctx)
		switch {
		case taken:
			return l, nil
		case err != nil && !isPassing(err): // for example, another node of a cluster was first
			return nil, sqlerror.Fault(err)
		case time.Now().After(until):
			return nil, errors.New("another process has been migrating this database for ten minutes")
		case !waits:
			if holder := l.current(ctx); holder != "" { // if empty, the other process has just ended
				m.o.Log.Info("waiting for another process that migrates the database", "holder", holder)
				waits = true
			}
		}
		select {
		case <-ctx.Done():
			return nil, sqlerror.Fault(ctx.Err())
		case <-time.After(lookTime):
		}
	}
}

// take takes the lease if it is free or has ended, and reports whether it has taken it. It creates
// the table and the row if they are missing.
func (l *lock) take(ctx context.Context) (bool, error) {
	free := "(ends_at <= " + l.m.o.Clock + " OR holder = ?)"
	taken, err := l.extend(ctx, free)
	if err != nil && sqlerror.IsNoTable(err) {
		_, err = l.m.o.Writes.ExecContext(ctx, lockTable)
	}
	if err != nil || taken {
		return taken, err
	}
	var rows int
	if err := l.m.o.Writes.QueryRowContext(ctx, "SELECT COUNT(*) FROM migration_lock").Scan(&rows); err != nil || rows > 0 {
		return false, err
	}
	if _, err := l.m.o.Writes.ExecContext(ctx, lockRow); err != nil {
		return false, err
	}
	return l.extend(ctx, free)
}

// renew extends the lease.
// Errors: errLeaseLost if another process has taken the lease.
func (l *lock) renew(ctx context.Context) error {
	held, err := l.extend(ctx, "holder = ?")
	if err != nil {
		return sqlerror.Fault(err)
	}
	if !held {
		l.mu.Lock()
		l.lost = true
		l.mu.Unlock()
		return errLeaseLost
	}
	return nil
}

// extend gives this process the lease for its full duration from now, if the SQL condition where is
// true. The argument of the condition is the holder. extend reports whether the condition was true.
func (l *lock) extend(ctx context.Context, where string) (bool, error) {
	began := time.Now()
	r, err := l.m.o.Writes.ExecContext(ctx, "UPDATE migration_lock SET holder = ?, ends_at = "+l.m.o.Clock+" + ? WHERE id = 1 AND "+where,
		l.holder, l.m.lease.Microseconds(), l.holder)
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	if err != nil || n == 0 {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = began
	return true, nil
}

// current returns the holder of the lease, for the log.
func (l *lock) current(ctx context.Context) (holder string) {
	_ = l.m.o.Writes.QueryRowContext(ctx, "SELECT holder FROM migration_lock WHERE id = 1").Scan(&holder)
	return holder
}

// beat renews the lease until ctx ends or the lease is lost. It ignores other errors, since
// held checks the age of the lease.
func (l *lock) beat(ctx context.Context) {
	tick := time.NewTicker(l.m.lease / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if errors.Is(l.renew(ctx), errLeaseLost) {
			return
		}
	}
}

// held returns nil while this process has the lease. The parameter old is a duration: if more time
// has passed since the last renewal, held renews the lease. A lease whose time has passed can still
// be renewed if no other process has taken it. This happens on Galera, where a schema change delays
// all writes, also renewals.
func (l *lock) held(ctx context.Context, old time.Duration) error {
	l.mu.Lock()
	lost, age := l.lost, time.Since(l.renewed)
	l.mu.Unlock()
	switch {
	case lost:
		return errLeaseLost
	case age > old:
		return l.renew(ctx)
	}
	return nil
}

// release ends the lease. If release fails, the lease ends after its time.
func (l *lock) release(ctx context.Context) {
	_, err := l.m.o.Writes.ExecContext(ctx, "UPDATE migration_lock SET holder = '', ends_at = 0 WHERE id = 1 AND holder = ?", l.holder)
	if err != nil {
		l.m.o.Log.Debug("the lease of the migration was not given back", "err", err)
	}
}

// leased runs statements on a connection, but only while this process has the lease.
type leased struct {
	conn *sql.Conn
	lock *lock
}

var _ schema.Runner = leased{}

// ExecContext runs a writing statement.
func (r leased) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := r.lock.held(ctx, r.lock.m.lease/2); err != nil {
		return nil, err
	}
	return r.conn.ExecContext(ctx, query, args...)
}

// QueryContext runs a reading statement.
func (r leased) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := r.lock.held(ctx, r.lock.m.lease/2); err != nil {
		return nil, err
	}
	return r.conn.QueryContext(ctx, query, args...)
}
