package app

import (
	"context"
	"fmt"
	"io"

	"github.com/alds-dev/alds/internal/check"
)

// checkAll reads the whole database in one snapshot and prints a line on stdout
// for each inconsistency. It changes nothing, and the service may run meanwhile.
// Errors: also when it found any.
func checkAll(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer, roles ...Role) error {
	s, err := open(ctx, getenv, stderr, merge(roles))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.ready(ctx); err != nil {
		return err
	}
	findings, err := check.Run(ctx, s.db, s.model)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, f := range findings {
		if _, err := fmt.Fprintln(stdout, f); err != nil {
			return err
		}
	}
	if n := len(findings); n > 0 {
		return fmt.Errorf("check: %d findings", n)
	}
	_, err = fmt.Fprintln(stdout, "the database agrees with itself")
	return err
}
