package rig

import (
	"context"
	"errors"
	"io"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Public is the base URL of the links in the service's answers. It does not depend on the port.
const Public = "http://bench.example/alds"

// Database is the database of a run.
type Database struct {
	Admin *db.DB // server connection of MariaDB or MySQL; nil for SQLite
	DB    *db.DB

	name, url, redis string
	keep             bool
}

// Open creates and migrates a database, or opens a database that an earlier run kept. redis is
// the URL of the queue. If keep is true, Close does not drop the database.
func Open(ctx context.Context, server, redis, name string, keep bool) (*Database, error) {
	d := &Database{name: name, url: server + "/" + name, redis: redis, keep: keep}
	var err error
	if d.Admin, err = db.Open(ctx, server+"/information_schema", db.Options{MaxConns: 2}); err != nil {
		return nil, err
	}
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// OpenFile creates and migrates a SQLite database. Close does not delete it.
func OpenFile(ctx context.Context, path, redis string) (*Database, error) {
	d := &Database{url: "sqlite:" + path, redis: redis, keep: true}
	if err := d.prepare(ctx); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Database) prepare(ctx context.Context) error {
	if d.Admin != nil {
		_, err := d.Admin.Exec(ctx, "CREATE DATABASE IF NOT EXISTS `"+d.name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
		if err != nil {
			return err
		}
	}
	if err := app.Migrate(ctx, d.environment(""), app.API); err != nil {
		return err
	}
	var err error
	// The hand-written code that is compared with the service uses 8 of these connections for
	// single statements.
	d.DB, err = db.Open(ctx, d.url, db.Options{MaxConns: 80})
	return err
}

// environment returns the settings for a service in this process. The log is discarded.
func (d *Database) environment(addr string) app.Environment {
	settings := map[string]string{
		"DATABASE_URL": d.url, "REDIS_URL": d.redis, "ALDS_ADDR": addr,
		"ALDS_ADMIN_PASSWORD": Password, "ALDS_PUBLIC_URL": Public, "ALDS_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	}
	return app.Environment{Getenv: func(name string) string { return settings[name] }, Stderr: io.Discard}
}

// Token creates an access token for a member.
func Token(ctx context.Context, d *db.DB, username string) (string, error) {
	logins, err := auth.New(d, meta.Default(), auth.Options{})
	if err != nil {
		return "", err
	}
	return logins.CreateToken(ctx, username, auth.TokenOptions{Name: "bench"})
}

// Close drops the database unless keep is set. It does not delete a SQLite file.
func (d *Database) Close() error {
	var errs []error
	if d.DB != nil {
		errs = append(errs, d.DB.Close())
	}
	if d.Admin == nil {
		return errors.Join(errs...)
	}
	if !d.keep {
		_, err := d.Admin.Exec(context.Background(), "DROP DATABASE IF EXISTS `"+d.name+"`")
		errs = append(errs, err)
	}
	return errors.Join(append(errs, d.Admin.Close())...)
}

// Insert writes n rows in transactions of limited size.
func Insert(ctx context.Context, d *db.DB, table string, columns []string, n int, row func(int) []any) error {
	const most = 20_000
	for from := 0; from < n; from += most {
		err := d.Write(ctx, func(tx *db.Tx) error {
			return db.InsertN(ctx, tx, table, columns, min(most, n-from), func(i int) []any { return row(from + i) })
		})
		if err != nil {
			return err
		}
	}
	return nil
}
