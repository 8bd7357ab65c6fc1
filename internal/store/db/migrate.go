package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	schema "github.com/alds-dev/alds/sql"
)

// Migrate brings the schema up to date. Only one process migrates at a time; the others wait,
// and find the work done. On a server a lease ensures this; it ends by itself if its holder
// is killed. Migrate changes nothing if a newer release has migrated the database. It refuses
// a database that this release does not work with, or where an applied migration differs from
// that of this build.
//
// MySQL cannot roll back DDL. So each step is recorded as begun, run, and recorded as done. A
// step that is only begun runs again, and "already there" then counts as done. On SQLite all
// steps are one transaction.
func (d *DB) Migrate(ctx context.Context) error {
	if d.Dialect.mysql { // no lease either, so a newer release's database stays unchanged
		if s, _, err := d.schemaState(ctx, d.lookups); err != nil || len(s.Newer) > 0 {
			return err
		}
	}
	return d.alone(ctx, func(r schema.Runner) error { return d.apply(ctx, r) })
}

// Alter runs a statement that alters a table, without a time limit, while no migration runs.
func (d *DB) Alter(ctx context.Context, statement string) error {
	return d.alone(ctx, func(r schema.Runner) error {
		_, err := r.ExecContext(ctx, statement)
		return sqlerror.Fault(err)
	})
}

// alone runs fn while no other process migrates. On SQLite it uses one transaction. On a
// server it uses a lease, and a connection without a time limit.
func (d *DB) alone(ctx context.Context, fn func(r schema.Runner) error) error {
	if d.Dialect.mysql {
		return d.aloneMySQL(ctx, fn)
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return sqlerror.Fault(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return sqlerror.Fault(err)
	}
	if err := fn(conn); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return sqlerror.Fault(err)
}

func (d *DB) aloneMySQL(ctx context.Context, fn func(r schema.Runner) error) error {
	pool, err := d.admin()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return sqlerror.Fault(err)
	}
	defer func() { _ = conn.Close() }()
	return d.underLease(ctx, func(l *migrateLock) error { return fn(leased{conn, l}) })
}

// Exclusive runs fn while no process migrates or runs Exclusive. It is for work that belongs
// to a migration but is not one. On SQLite it only runs fn, since one process has the file.
func (d *DB) Exclusive(ctx context.Context, fn func() error) error {
	if !d.Dialect.mysql {
		return fn()
	}
	return d.underLease(ctx, func(*migrateLock) error { return fn() })
}

// underLease runs fn while it holds the lease of migrations.
func (d *DB) underLease(ctx context.Context, fn func(*migrateLock) error) error {
	lock, err := d.lockMigrations(ctx)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { lock.beat(beating) })
	err = fn(lock)
	stop()
	beats.Wait()
	lock.release(context.WithoutCancel(ctx))
	return err
}

// apply runs the missing steps. It changes nothing if a newer release has migrated the
// database and this release works with it.
func (d *DB) apply(ctx context.Context, r schema.Runner) error {
	state, done, err := d.schemaState(ctx, r)
	if err != nil || len(state.Newer) > 0 {
		return err
	}
	if err := execAgain(ctx, r, d.steps[0].Text); err != nil { // the table of migrations itself
		return fmt.Errorf("migration table: %w", sqlerror.Fault(err))
	}
	n := 0
	for _, s := range d.steps {
		a, ok := done[s.Version]
		if ok && !a.begun {
			continue
		}
		if l, ok := r.(leased); ok {
			if err := l.lock.held(ctx, d.migrateLease/15); err != nil {
				return err
			}
		}
		if err := d.step(ctx, r, s, a.begun); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", s.Version, s.Name, sqlerror.Fault(err))
		}
		n++
		d.log.Debug("schema migration applied", "version", s.Version, "name", s.Name)
	}
	if err := raiseOldest(ctx, r, d.steps); err != nil {
		return fmt.Errorf("record the oldest releases: %w", sqlerror.Fault(err))
	}
	if n > 0 {
		d.log.Info("schema migrated", "migrations", n, "version", d.steps[len(d.steps)-1].Version)
	}
	rank := release.Rank(release.Number)
	return sqlerror.Fault(execAgain(ctx, r, "UPDATE sequence SET value = ? WHERE name = 'release' AND value < ?", rank, rank))
}

// raiseOldest raises the recorded oldest release of a migration if this build has a higher
// one. Then an earlier build has recorded that too many releases work with it.
func raiseOldest(ctx context.Context, r schema.Runner, steps []schema.Migration) error {
	if !slices.ContainsFunc(steps, func(s schema.Migration) bool { return s.Version == schema.RecordsOldest }) {
		return nil
	}
	recorded := map[int]string{}
	rows, err := r.QueryContext(ctx, "SELECT version, oldest_release FROM schema_migration")
	if err != nil {
		return err
	}
	err = eachRow(rows, func(row Scanner) error {
		var version int
		var oldest string
		err := row.Scan(&version, &oldest)
		recorded[version] = oldest
		return err
	})
	for _, s := range steps {
		if err != nil {
			return err
		}
		if s.Version > schema.RecordsOldest && release.Rank(s.Oldest) > release.Rank(recorded[s.Version]) {
			err = execAgain(ctx, r, "UPDATE schema_migration SET oldest_release = ? WHERE version = ?", s.Oldest, s.Version)
		}
	}
	return err
}

// execAgain runs a statement that is a transaction of its own. It repeats the statement if
// another write was first, for example on another node of a cluster. After an unknown outcome
// a duplicate key counts as success, since under the lease no other process writes this row.
func execAgain(ctx context.Context, r schema.Runner, query string, args ...any) error {
	unsure := false
	for n, pause := 1, firstBackoff; ; n, pause = n+1, 2*pause {
		_, err := r.ExecContext(ctx, query, args...)
		if err == nil || unsure && sqlerror.ClassOf(err) == sqlerror.Duplicate {
			return nil
		}
		if n == maxAttempts || !isPassing(err) {
			return err
		}
		unsure = unsure || sqlerror.ClassOf(err) == sqlerror.Undecided
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// isPassing reports whether a single statement may run again after err.
func isPassing(err error) bool {
	c := sqlerror.ClassOf(err)
	return c == sqlerror.Retryable || c == sqlerror.Undecided
}

// step runs one migration and records it; applied_at is 0 until it is done. The oldest
// release that works with the migration is recorded before it runs, so that older processes
// can read it meanwhile.
func (d *DB) step(ctx context.Context, r schema.Runner, s schema.Migration, begun bool) error {
	columns, marks, sets, values := "", "", "", []any{s.Checksum, s.Name}
	if s.Version > schema.RecordsOldest {
		columns, marks, sets, values = ", oldest_release", ", ?", ", oldest_release = ?", append(values, s.Oldest)
	}
	if !begun {
		err := execAgain(ctx, r, "INSERT INTO schema_migration (version, applied_at, checksum, name"+columns+") VALUES (?, 0, ?, ?"+marks+")",
			append([]any{s.Version}, values...)...)
		if err != nil {
			return err
		}
	}
	for _, text := range d.texts(s) {
		s.Text = text
		if err := do(ctx, r, s); err != nil && (!begun || !alreadyThere(s, err)) {
			return err
		}
	}
	return execAgain(ctx, r, "UPDATE schema_migration SET applied_at = ?, checksum = ?, name = ?"+sets+" WHERE version = ?",
		slices.Concat([]any{time.Now().UnixMicro()}, values, []any{s.Version})...)
}

// texts returns the statements of a migration on this server; a program gives one empty text.
func (d *DB) texts(s schema.Migration) []string {
	if d.tidb != nil && d.tidb.Load() {
		return asTiDB(s.Text)
	}
	return []string{s.Text}
}

func do(ctx context.Context, r schema.Runner, s schema.Migration) error {
	if s.Run != nil {
		return s.Run(ctx, r)
	}
	return execAgain(ctx, r, s.Text)
}

// alreadyThere reports whether err shows that an earlier run of a step has done its work. A
// table that is to be renamed may already have its new name.
func alreadyThere(s schema.Migration, err error) bool {
	if sqlerror.FromServer(err) && sqlerror.IsNoTable(err) {
		return strings.Contains(s.Text, " RENAME TO ")
	}
	return sqlerror.IsAlreadyThere(err)
}
