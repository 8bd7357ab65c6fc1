package migrate

import (
	"context"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/store/sqlerror"
	schema "github.com/alds-dev/alds/sql"
)

// Newest returns the number of the last migration of this build for a dialect, mysql or
// sqlite.
func Newest(dialect string) (int, error) {
	steps, err := schema.Migrations(dialect)
	if err != nil {
		return 0, err
	}
	return steps[len(steps)-1].Version, nil
}

// MakeTable returns the statement with which a migration creates a table, or "". The statement does
// not contain the changes of later migrations.
func MakeTable(dialect, table string) (string, error) {
	steps, err := schema.Migrations(dialect)
	for _, s := range steps {
		if rest, ok := strings.CutPrefix(s.Text, "CREATE TABLE IF NOT EXISTS "); ok {
			if name, _, _ := strings.Cut(rest, " "); strings.Trim(name, "`\"") == table {
				return s.Text, nil
			}
		}
	}
	return "", err
}

// Build runs all migrations of this build in an empty database, but does not record them there.
func Build(ctx context.Context, dialect string, r schema.Runner) error {
	steps, err := schema.Migrations(dialect)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if err := do(ctx, r, s); err != nil {
			return fmt.Errorf("migration %04d_%s: %w", s.Version, s.Name, sqlerror.Fault(err))
		}
	}
	return nil
}
