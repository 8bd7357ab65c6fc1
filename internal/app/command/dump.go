package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/operate/dump"
)

// exportCommand writes all data.
type exportCommand struct{}

// Run writes all data as JSON lines to stdout, and its progress to stderr. The service may run
// meanwhile.
func (exportCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withDatabase(ctx, o, role, func(i *app.Installation) error {
		began := time.Now()
		rows, err := dump.Write(ctx, i.DB, o.stdout, release.Version(), told(o.Stderr))
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		_, err = fmt.Fprintf(o.Stderr, "exported %d rows in %s\n", rows, time.Since(began).Round(time.Millisecond))
		return err
	})
}

// restoreCommand reads an export into an empty database.
type restoreCommand struct{}

// Run creates the schema in an empty database and reads an export from stdin into it. No
// process may use the database meanwhile.
func (restoreCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withInstallation(ctx, o, role, func(i *app.Installation) error {
		if err := i.DB.Migrate(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		began := time.Now()
		rows, err := dump.Read(ctx, i.DB, o.stdin, told(o.Stderr))
		if err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		if err := i.DB.GatherStatistics(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		_, err = fmt.Fprintf(o.Stderr, "restored %d rows in %s\n", rows, time.Since(began).Round(time.Millisecond))
		return err
	})
}

// told returns a function that prints the progress of a table to w.
func told(w io.Writer) dump.Progress {
	return func(table string, rows int64) { fmt.Fprintf(w, "%-22s %12d rows\n", table, rows) }
}
