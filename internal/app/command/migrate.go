package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/migrate"
	"github.com/alds-dev/alds/internal/store/processes"
)

// errStop reports that running processes would not work after the migration. The exit status
// is 3.
var errStop = errors.New("stop these processes before `migrate`; they do not work with the migrated database")

// migrateCommand updates the schema, or reports what the update would do.
type migrateCommand struct {
	Check bool `help:"Change nothing. Print which migrations would run, and whether running processes continue to work afterwards. The exit status is 0 if they do, and 3 if you must stop them first."`
}

// Run does the same as app.Migrate. With --check it only prints a report.
func (c migrateCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withInstallation(ctx, o, role, func(i *app.Installation) error {
		if c.Check {
			return checkMigration(ctx, i.DB, o.stdout)
		}
		return i.Migrate(ctx)
	})
}

// checkMigration prints on stdout which migrations `migrate` would run, and whether running
// processes would continue to work after them. It changes nothing.
// Errors: errStop; an error for a database that this release does not work with.
func checkMigration(ctx context.Context, d *db.DB, stdout io.Writer) error {
	state, err := d.SchemaState(ctx)
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	var running []processes.Row
	if state.Release != "" { // without a release, the database has no list of processes
		if running, err = processes.List(ctx, d, d.Dialect); err != nil {
			return fmt.Errorf("list the running processes: %w", err)
		}
	}
	report, err := migrationReport(&state, running)
	if _, printed := io.WriteString(stdout, report); printed != nil {
		return printed
	}
	return err
}

// migrationReport returns the text that `migrate --check` prints.
// Errors: errStop. The text is returned also with an error.
func migrationReport(state *migrate.State, running []processes.Row) (string, error) {
	var b strings.Builder
	if state.Empty {
		fmt.Fprintf(&b, "this is %s; the database is empty\n", release.Number)
	} else {
		fmt.Fprintf(&b, "this is %s; the database was migrated by %s\n", release.Number, cmp.Or(state.Release, "a build without a number"))
	}
	if state.OfNewer() {
		fmt.Fprintf(&b, "it is of a newer release, which works with this one: `migrate` would change nothing\n")
		return b.String(), nil
	}
	if len(state.Missing) == 0 {
		b.WriteString("no migration is missing\n")
		return b.String(), nil
	}
	oldest := migrate.Oldest(state.Missing).Oldest
	fmt.Fprintf(&b, "migrations to run: %d\n", len(state.Missing))
	for _, m := range state.Missing {
		fmt.Fprintf(&b, "  %s, works with %s and later\n", m, m.Oldest)
	}
	fmt.Fprintf(&b, "afterwards %s and later work with the database\n", oldest)
	if state.Empty {
		return b.String(), nil
	}
	if state.Release == "" {
		b.WriteString("processes of a build without a number refuse to work with it; whether some run cannot be seen\n")
		return b.String(), errStop
	}
	err := reportRunning(&b, oldest, running)
	return b.String(), err
}

// reportRunning writes the running processes that will not work after the migrations. oldest is
// the oldest release that works with them.
// Errors: errStop if there are such processes.
func reportRunning(b *strings.Builder, oldest string, running []processes.Row) (err error) {
	n := 0
	for _, p := range running {
		if !p.Alive {
			continue
		}
		n++
		if release.Rank(p.Version) < release.Rank(oldest) {
			fmt.Fprintf(b, "  %s %s on %s, running, does not work with it\n", p.Role, p.Version, p.Host)
			err = errStop
		}
	}
	if err == nil {
		fmt.Fprintf(b, "processes that run now: %d; all go on\n", n)
	}
	return err
}
