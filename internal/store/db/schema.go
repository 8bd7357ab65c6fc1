package db

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/store/connection"
	"github.com/alds-dev/alds/internal/store/migrate"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// migrations returns the migrations of the database.
func (d *DB) migrations() (*migrate.Migrations, error) {
	o := migrate.Options{Dialect: d.Dialect.Name, Clock: d.Dialect.NowMicros, Reads: d.lookups, Writes: d.small, Log: d.log}
	if d.server != nil {
		o.TiDB, o.Admin = d.server.IsTiDB(), d.server.Admin
	}
	return migrate.New(o)
}

// Schema returns the number of the last migration of the database, and of the last one of
// this build.
func (d *DB) Schema(ctx context.Context) (version, expected int, err error) {
	var last sql.NullInt64
	err = d.QueryRow(ctx, "SELECT MAX(version) FROM schema_migration WHERE applied_at > 0").Scan(&last)
	return int(last.Int64), d.LastMigration(), err
}

// Built calls fn with an empty SQLite database in memory, created by the migrations of this
// build. The names in its schema are the same on every server.
func Built(ctx context.Context, fn func(q Querier, d *Dialect) error) error {
	pool, err := connection.Memory()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	d := &DB{Dialect: sqliteDialect(), reader: pool, writer: pool}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return sqlerror.Fault(err)
	}
	if err := migrate.Build(ctx, d.Dialect.Name, conn); err != nil {
		_ = conn.Close()
		return err
	}
	if err := conn.Close(); err != nil {
		return sqlerror.Fault(err)
	}
	return fn(d, d.Dialect)
}
