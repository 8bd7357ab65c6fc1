package command

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/operate/check"
)

// checkCommand checks the whole database.
type checkCommand struct{}

// Run reads the whole database in one snapshot and prints a line on stdout for each inconsistency.
// It changes nothing, and the service may run meanwhile.
// Errors: also if it finds inconsistencies.
func (checkCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withInstallation(ctx, o, role, func(i *app.Installation) error {
		if err := readyForCheck(ctx, i); err != nil {
			return err
		}
		findings, err := i.Check(ctx, func(check.Step) {})
		if err != nil {
			return fmt.Errorf("check: %w", err)
		}
		for _, f := range findings {
			if _, err := fmt.Fprintln(o.stdout, f); err != nil {
				return err
			}
		}
		if n := len(findings); n > 0 {
			return fmt.Errorf("check: %d findings", n)
		}
		_, err = fmt.Fprintln(o.stdout, "the database agrees with itself")
		return err
	})
}

// readyForCheck is like Installation.Ready, except that tables may be missing, since check and
// repair report them.
func readyForCheck(ctx context.Context, i *app.Installation) error {
	if err := i.DB.SchemaIsCurrent(ctx); err == nil {
		if missing, err := check.Schema(ctx, i.DB); err != nil || len(missing) > 0 {
			return err
		}
	}
	return i.Ready(ctx)
}
