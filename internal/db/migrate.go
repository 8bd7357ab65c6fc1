package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	schema "github.com/alds-dev/alds/sql"
)

// migrateWait is how long Migrate waits for another one to finish.
const migrateWait = 10 * time.Minute

// Migrate brings the schema up to date, under a lock, so that two at once do
// the work once. It refuses a database that a newer alds has migrated, and one
// where an applied migration is not the one of this build.
//
// On MySQL, which cannot roll back DDL, each step is noted as begun, run, and
// noted as done; a step found begun is run again, and "already there" counts as
// done. On SQLite all steps are one transaction.
func (d *DB) Migrate(ctx context.Context) error {
	if d.Dialect.mysql {
		return d.migrateMySQL(ctx)
	}
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return Fault(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return Fault(err)
	}
	if err := d.apply(ctx, conn); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return Fault(err)
}

func (d *DB) migrateMySQL(ctx context.Context) error {
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
	err = d.apply(ctx, conn)
	_, unlock := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", lock)
	return errors.Join(err, unlock)
}

// apply runs the steps that are missing.
func (d *DB) apply(ctx context.Context, r schema.Runner) error {
	if _, err := r.ExecContext(ctx, d.steps[0].Text); err != nil { // the table of migrations itself
		return fmt.Errorf("migration table: %w", Fault(err))
	}
	rows, err := r.QueryContext(ctx, historyQuery)
	if err != nil {
		return Fault(err)
	}
	done, err := history(rows)
	if err != nil {
		return err
	}
	missing, err := missing(d.steps, done)
	if err != nil {
		return err
	}
	for _, s := range missing {
		if err := d.step(ctx, r, s, done[s.Version].begun); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", s.Version, s.Name, Fault(err))
		}
		d.log.Debug("schema migration applied", "version", s.Version, "name", s.Name)
	}
	if n := len(missing); n > 0 {
		d.log.Info("schema migrated", "migrations", n, "version", missing[n-1].Version)
	}
	return nil
}

// step runs one migration and records it: applied_at is 0 while it is begun.
func (d *DB) step(ctx context.Context, r schema.Runner, s schema.Migration, begun bool) error {
	if !begun {
		_, err := r.ExecContext(ctx, "INSERT INTO schema_migration (version, name, checksum, applied_at) VALUES (?, ?, ?, 0)",
			s.Version, s.Name, s.Checksum)
		if err != nil {
			return err
		}
	}
	if err := do(ctx, r, s); err != nil && (!begun || !alreadyThere(s, err)) {
		return err
	}
	_, err := r.ExecContext(ctx, "UPDATE schema_migration SET applied_at = ?, checksum = ?, name = ? WHERE version = ?",
		time.Now().UnixMicro(), s.Checksum, s.Name, s.Version)
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

const historyQuery = "SELECT version, name, checksum, applied_at FROM schema_migration ORDER BY version"

// applied is a row of schema_migration.
type applied struct {
	name, checksum string
	begun          bool // but not done
}

func history(rows *sql.Rows) (map[int]applied, error) {
	done := map[int]applied{}
	err := eachRow(rows, func(row Scanner) error {
		var version int
		var at int64
		var a applied
		err := row.Scan(&version, &a.name, &a.checksum, &at)
		a.begun = at == 0
		done[version] = a
		return err
	})
	return done, err
}

// missing returns the steps a database with this history lacks, and refuses a
// history that this build cannot continue.
func missing(steps []schema.Migration, done map[int]applied) ([]schema.Migration, error) {
	known := map[int]bool{}
	var todo []schema.Migration
	for _, s := range steps {
		known[s.Version] = true
		a, ok := done[s.Version]
		switch {
		case !ok, a.begun:
			todo = append(todo, s)
		case a.checksum != s.Checksum:
			return nil, fmt.Errorf("schema migration %04d_%s was applied to this database with other contents than this build has; "+
				"released migrations never change, so this build and the database do not belong together", s.Version, s.Name)
		}
	}
	for version, a := range done {
		if !known[version] {
			return nil, fmt.Errorf("this database has schema migration %04d_%s, which this build does not know: "+
				"it was migrated by a newer alds; run that one", version, a.name)
		}
	}
	return todo, nil
}

// SchemaIsCurrent returns nil when every migration of this build, and no other,
// has been applied; else an error that says what to do. It changes nothing.
func (d *DB) SchemaIsCurrent(ctx context.Context) error {
	rows, err := d.lookups.QueryContext(ctx, historyQuery)
	done := map[int]applied{}
	switch {
	case err != nil && noTable(err):
	case err != nil:
		return Fault(err)
	default:
		if done, err = history(rows); err != nil {
			return err
		}
	}
	todo, err := missing(d.steps, done)
	if err != nil {
		return err
	}
	if len(todo) > 0 {
		return fmt.Errorf("the database schema is old: %d of %d migrations are missing, the first is %04d_%s; run `api migrate`",
			len(todo), len(d.steps), todo[0].Version, todo[0].Name)
	}
	return nil
}

func noTable(err error) bool {
	if my, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return my.Number == mysqlNoTable
	}
	return strings.Contains(err.Error(), "no such table")
}
