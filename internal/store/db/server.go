package db

import (
	"context"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/engine"
	"github.com/alds-dev/alds/internal/store/sqlerror"
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
	return engine.Name(version), err
}

// Engine determines the kind of the database server, and stores the result for Writable.
func (d *DB) Engine(ctx context.Context) (engine.Engine, error) {
	if !d.Dialect.mysql {
		server, err := d.Server(ctx)
		return engine.Engine{Server: server, Mode: "a file", Means: "one write at a time, of this process", Writes: true}, err
	}
	e, err := engine.Find(ctx, d.reader)
	if err != nil {
		return engine.Engine{}, err
	}
	d.engine.Store(e)
	return *e, nil
}

// Writable returns nil if the database answers and accepts writes. It is for checks of readiness.
// Errors: fault.Transient.
func (d *DB) Writable(ctx context.Context) error {
	if !d.Dialect.mysql {
		return d.Ping(ctx)
	}
	known := d.engine.Load()
	if known == nil {
		if _, err := d.Engine(ctx); err != nil {
			return err
		}
		known = d.engine.Load()
	}
	why, err := known.Refusal(ctx, d.reader)
	switch {
	case err != nil && fault.KindOf(err) == fault.Internal: // the pool now connects to another server
		d.engine.Store(nil)
		return fault.Transientf(err, "the database does not say whether it accepts writes")
	case err != nil:
		return err
	case why != "":
		return fault.Transientf(fmt.Errorf("%s, %s", known.Server, known.Mode), "the database takes no writes: %s", why)
	}
	return nil
}

// learn determines whether the server is a TiDB, a MariaDB or a MySQL, and adapts the dialect. The
// version of a TiDB looks like 8.0.11-TiDB-v8.5.0.
func (d *DB) learn(ctx context.Context) error {
	var version string
	if err := d.writer.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return sqlerror.Fault(err)
	}
	is := strings.Contains(version, "-TiDB-")
	d.server.SetTiDB(is)
	d.Dialect.Unfolds, d.Dialect.QueriesInON = !is, !is // a TiDB has no JSON_TABLE
	d.Dialect.TestsInON = !is && !strings.Contains(version, "MariaDB")
	return nil
}
