package db

import (
	"context"
	"database/sql"
)

// Server returns the name and version of the database server, such as "MariaDB 10.11.6" or
// "SQLite 3.50.4".
func (d *DB) Server(ctx context.Context) (string, error) {
	if !d.Dialect.mysql {
		var version string
		err := d.QueryRow(ctx, "SELECT sqlite_version()").Scan(&version)
		return "SQLite " + version, err
	}
	var version string
	err := d.QueryRow(ctx, "SELECT VERSION()").Scan(&version)
	return facts{"version": version}.server(), err
}

// Schema returns the number of the last migration of the database, and of the last one of
// this build.
func (d *DB) Schema(ctx context.Context) (version, expected int, err error) {
	var last sql.NullInt64
	err = d.QueryRow(ctx, "SELECT MAX(version) FROM schema_migration WHERE applied_at > 0").Scan(&last)
	return int(last.Int64), d.steps[len(d.steps)-1].Version, err
}
