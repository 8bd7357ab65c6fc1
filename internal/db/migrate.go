package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/release"
	schema "github.com/alds-dev/alds/sql"
)

// migrateWait is how long Migrate waits for another one to finish.
const migrateWait = 10 * time.Minute

// Migrate brings the schema up to date, under a lock, so that two at once do
// the work once. It changes nothing where a newer release has migrated the database,
// and refuses one that this release does not work with, and one where an applied
// migration is not the one of this build.
//
// On MySQL, which cannot roll back DDL, each step is noted as begun, run, and
// noted as done; a step found begun is run again, and "already there" counts as
// done. On SQLite all steps are one transaction.
func (d *DB) Migrate(ctx context.Context) error {
	return d.alone(ctx, func(r schema.Runner) error { return d.apply(ctx, r) })
}

// Alter runs a statement that alters a table, for as long as it takes, while no migration
// runs.
func (d *DB) Alter(ctx context.Context, statement string) error {
	return d.alone(ctx, func(r schema.Runner) error {
		_, err := r.ExecContext(ctx, statement)
		return Fault(err)
	})
}

// alone runs fn under the lock of migrations: on SQLite in one transaction, on a server on
// a connection without a limit.
func (d *DB) alone(ctx context.Context, fn func(r schema.Runner) error) error {
	if d.Dialect.mysql {
		return d.aloneMySQL(ctx, fn)
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return Fault(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return Fault(err)
	}
	if err := fn(conn); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return Fault(err)
}

func (d *DB) aloneMySQL(ctx context.Context, fn func(r schema.Runner) error) error {
	pool, err := d.admin()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return Fault(err)
	}
	defer func() { _ = conn.Close() }()
	sum := sha256.Sum256([]byte(d.name))
	lock := "alds_migrate_" + hex.EncodeToString(sum[:8]) // a lock's name is the server's, not the database's
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", lock, int(migrateWait.Seconds())).Scan(&got); err != nil {
		return Fault(err)
	}
	if got.Int64 != 1 {
		return errors.New("another process has been migrating this database for ten minutes")
	}
	err = fn(conn)
	_, unlock := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", lock)
	return errors.Join(err, unlock)
}

// apply runs the steps that are missing. Where a newer release has migrated the
// database, and this one works with it, it changes nothing.
func (d *DB) apply(ctx context.Context, r schema.Runner) error {
	state, done, err := d.schemaState(ctx, r)
	if err != nil || len(state.Newer) > 0 {
		return err
	}
	if _, err := r.ExecContext(ctx, d.steps[0].Text); err != nil { // the table of migrations itself
		return fmt.Errorf("migration table: %w", Fault(err))
	}
	n := 0
	for _, s := range d.steps {
		a, ok := done[s.Version]
		if ok && !a.begun {
			continue
		}
		if err := d.step(ctx, r, s, a.begun); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", s.Version, s.Name, Fault(err))
		}
		n++
		d.log.Debug("schema migration applied", "version", s.Version, "name", s.Name)
	}
	if n > 0 {
		d.log.Info("schema migrated", "migrations", n, "version", d.steps[len(d.steps)-1].Version)
	}
	rank := release.Rank(release.Number)
	_, err = r.ExecContext(ctx, "UPDATE sequence SET value = ? WHERE name = 'release' AND value < ?", rank, rank)
	return Fault(err)
}

// step runs one migration and records it: applied_at is 0 while it is begun. The
// oldest release that works with it is recorded before it runs, so that older
// processes know it meanwhile.
func (d *DB) step(ctx context.Context, r schema.Runner, s schema.Migration, begun bool) error {
	columns, marks, sets, values := "", "", "", []any{s.Checksum, s.Name}
	if s.Version > schema.RecordsOldest {
		columns, marks, sets, values = ", oldest_release", ", ?", ", oldest_release = ?", append(values, s.Oldest)
	}
	if !begun {
		_, err := r.ExecContext(ctx, "INSERT INTO schema_migration (version, applied_at, checksum, name"+columns+") VALUES (?, 0, ?, ?"+marks+")",
			append([]any{s.Version}, values...)...)
		if err != nil {
			return err
		}
	}
	if err := do(ctx, r, s); err != nil && (!begun || !alreadyThere(s, err)) {
		return err
	}
	_, err := r.ExecContext(ctx, "UPDATE schema_migration SET applied_at = ?, checksum = ?, name = ?"+sets+" WHERE version = ?",
		slices.Concat([]any{time.Now().UnixMicro()}, values, []any{s.Version})...)
	return err
}

func do(ctx context.Context, r schema.Runner, s schema.Migration) error {
	if s.Run != nil {
		return s.Run(ctx, r)
	}
	_, err := r.ExecContext(ctx, s.Text)
	return err
}

// alreadyThere: a step that was begun before had done its work. A table that is
// to be renamed has its new name by then.
func alreadyThere(s schema.Migration, err error) bool {
	my, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return false
	}
	if my.Number == mysqlNoTable {
		return strings.Contains(s.Text, " RENAME TO ")
	}
	switch my.Number {
	case mysqlTableExists, mysqlColumnExists, mysqlKeyExists, mysqlNothingToDrop:
		return true
	}
	return false
}

func noTable(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlNoTable
	}
	return strings.Contains(err.Error(), "no such table")
}
