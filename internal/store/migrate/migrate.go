package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	schema "github.com/alds-dev/alds/sql"
)

// Options describe the database for New.
type Options struct {
	Dialect string                  // mysql or sqlite
	Clock   string                  // SQL expression: the clock of the database, in UTC microseconds
	TiDB    bool                    // true if the server is a TiDB
	Reads   *sql.DB                 // for reads
	Writes  *sql.DB                 // for short writes; for a SQLite file its only write connection
	Admin   func() (*sql.DB, error) // opens a pool of one connection without a time limit; nil for a SQLite file
	Log     *slog.Logger
}

// Migrations are the migrations of a database.
type Migrations struct {
	o     Options
	steps []schema.Migration

	lease, wait time.Duration // duration of a lease, and how long a process waits for it; see lock
}

// New returns the migrations of this build for a database.
func New(o Options) (*Migrations, error) {
	steps, err := schema.Migrations(o.Dialect)
	if err != nil {
		return nil, err
	}
	return &Migrations{o: o, steps: steps, lease: leaseTime, wait: waitTime}, nil
}

// ReadOn returns a copy of m that reads the state of the schema with another pool.
func (m *Migrations) ReadOn(pool *sql.DB) *Migrations {
	v := *m
	v.o.Reads = pool
	return &v
}

// LastMigration returns the number of the last migration of this build.
func (m *Migrations) LastMigration() int { return m.steps[len(m.steps)-1].Version }

// isFile reports whether the database is a SQLite file. Only one process uses such a file.
func (m *Migrations) isFile() bool { return m.o.Admin == nil }

// Migrate brings the schema up to date. Only one process migrates at a time. The others wait, and
// then have nothing to do. On a server this is ensured by a lease, which ends after a time if its
// process was killed. Migrate changes nothing if a newer release has migrated the database. It
// refuses a database that this release does not work with. It also refuses a database if an applied
// migration differs from the same migration of this build.
//
// MySQL cannot roll back DDL. So each step is recorded as begun, run, and recorded as done. A step
// that is only recorded as begun runs again. If it then fails because its change already exists,
// the step counts as done. On SQLite all steps are one transaction.
func (m *Migrations) Migrate(ctx context.Context) error {
	if !m.isFile() { // before the lease, which would write to the database of a newer release
		if s, _, err := m.state(ctx, m.o.Reads); err != nil || len(s.Newer) > 0 {
			return err
		}
	}
	return m.alone(ctx, func(r schema.Runner) error { return m.apply(ctx, r) })
}

// Alter runs a statement that alters a table, without a time limit, while no migration runs.
func (m *Migrations) Alter(ctx context.Context, statement string) error {
	return m.alone(ctx, func(r schema.Runner) error {
		_, err := r.ExecContext(ctx, statement)
		return sqlerror.Fault(err)
	})
}

// alone runs fn while no other process migrates. On SQLite it uses one transaction. On a
// server it uses a lease, and a connection without a time limit.
func (m *Migrations) alone(ctx context.Context, fn func(r schema.Runner) error) error {
	if !m.isFile() {
		return m.aloneMySQL(ctx, fn)
	}
	conn, err := m.o.Writes.Conn(ctx)
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

func (m *Migrations) aloneMySQL(ctx context.Context, fn func(r schema.Runner) error) error {
	pool, err := m.o.Admin()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return sqlerror.Fault(err)
	}
	defer func() { _ = conn.Close() }()
	return m.underLease(ctx, func(l *lock) error { return fn(leased{conn, l}) })
}

// Exclusive runs fn while no process migrates or runs Exclusive. It is for work that must not run
// together with a migration. On SQLite it only runs fn, since only one process uses the file.
func (m *Migrations) Exclusive(ctx context.Context, fn func() error) error {
	if m.isFile() {
		return fn()
	}
	return m.underLease(ctx, func(*lock) error { return fn() })
}

// underLease runs fn while it holds the lease of migrations.
func (m *Migrations) underLease(ctx context.Context, fn func(*lock) error) error {
	l, err := m.takeLock(ctx)
	if err != nil {
		return err
	}
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beats sync.WaitGroup
	beats.Go(func() { l.beat(beating) })
	err = fn(l)
	stop()
	beats.Wait()
	l.release(context.WithoutCancel(ctx))
	return err
}

// apply runs the missing steps. It changes nothing if a newer release has migrated the
// database and this release works with it.
func (m *Migrations) apply(ctx context.Context, r schema.Runner) error {
	state, done, err := m.state(ctx, r)
	if err != nil || len(state.Newer) > 0 {
		return err
	}
	if err := execAgain(ctx, r, m.steps[0].Text); err != nil { // creates the table of migrations
		return fmt.Errorf("migration table: %w", sqlerror.Fault(err))
	}
	n := 0
	for _, s := range m.steps {
		a, ok := done[s.Version]
		if ok && !a.begun {
			continue
		}
		if l, ok := r.(leased); ok {
			if err := l.lock.held(ctx, m.lease/15); err != nil {
				return err
			}
		}
		if err := m.step(ctx, r, s, a.begun); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", s.Version, s.Name, sqlerror.Fault(err))
		}
		n++
		m.o.Log.Debug("schema migration applied", "version", s.Version, "name", s.Name)
	}
	if err := raiseOldest(ctx, r, m.steps); err != nil {
		return fmt.Errorf("store the oldest release of each migration: %w", sqlerror.Fault(err))
	}
	if n > 0 {
		m.o.Log.Info("schema migrated", "migrations", n, "version", m.steps[len(m.steps)-1].Version)
	}
	rank := release.Rank(release.Number)
	return sqlerror.Fault(execAgain(ctx, r, "UPDATE sequence SET value = ? WHERE name = 'release' AND value < ?", rank, rank))
}

// raiseOldest raises the recorded oldest release of a migration if this build has a higher one. The
// recorded release is then a mistake of an earlier build: that release does not work with the
// migration.
func raiseOldest(ctx context.Context, r schema.Runner, steps []schema.Migration) error {
	if !slices.ContainsFunc(steps, func(s schema.Migration) bool { return s.Version == schema.RecordsOldest }) {
		return nil
	}
	recorded := map[int]string{}
	rows, err := r.QueryContext(ctx, "SELECT version, oldest_release FROM schema_migration")
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	err = each(rows, func() error {
		var version int
		var oldest string
		err := rows.Scan(&version, &oldest)
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

const (
	attempts   = 5                    // maximum number of attempts of a statement
	firstPause = 8 * time.Millisecond // pause before the second attempt; it doubles with each attempt
)

// execAgain runs a statement that is a transaction of its own. It repeats the statement if another
// write was first, for example on another node of a cluster. If the outcome of an attempt is
// unknown, a duplicate key in the next attempt counts as success. Then the earlier attempt has
// inserted the row, since no other process writes this row during the lease.
func execAgain(ctx context.Context, r schema.Runner, query string, args ...any) error {
	unsure := false
	for n, pause := 1, firstPause; ; n, pause = n+1, 2*pause {
		_, err := r.ExecContext(ctx, query, args...)
		if err == nil || unsure && sqlerror.ClassOf(err) == sqlerror.Duplicate {
			return nil
		}
		if n == attempts || !isPassing(err) {
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

// step runs one migration and records it; applied_at is 0 until it is done. The oldest release that
// works with the migration is recorded before it runs, so that older processes can read it while
// the migration runs.
func (m *Migrations) step(ctx context.Context, r schema.Runner, s schema.Migration, begun bool) error {
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
	for _, text := range m.texts(s) {
		s.Text = text
		if err := do(ctx, r, s); err != nil && (!begun || !alreadyThere(s, err)) {
			return err
		}
	}
	return execAgain(ctx, r, "UPDATE schema_migration SET applied_at = ?, checksum = ?, name = ?"+sets+" WHERE version = ?",
		slices.Concat([]any{time.Now().UnixMicro()}, values, []any{s.Version})...)
}

// texts returns the statements of a migration on this server; for a Go program it returns one empty
// text.
func (m *Migrations) texts(s schema.Migration) []string {
	if m.o.TiDB {
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

// alreadyThere reports whether err shows that an earlier run of a step has done its work. If a
// table to be renamed does not exist, it already has its new name.
func alreadyThere(s schema.Migration, err error) bool {
	if sqlerror.FromServer(err) && sqlerror.IsNoTable(err) {
		return strings.Contains(s.Text, " RENAME TO ")
	}
	return sqlerror.IsAlreadyThere(err)
}

// This function calls scan for each row, and closes the rows.
func each(rows *sql.Rows, scan func() error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(); err != nil {
			return sqlerror.Fault(err)
		}
	}
	return sqlerror.Fault(rows.Err())
}
