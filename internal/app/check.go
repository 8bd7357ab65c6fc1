package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/operate/check"
)

// errEnough ends a check that has found the maximum number of findings.
var errEnough = errors.New("enough findings")

// checkCommand checks the whole database.
type checkCommand struct{}

// Run reads the whole database in one snapshot and prints a line on stdout for each
// inconsistency. It changes nothing, and the service may run meanwhile.
// Errors: also if it finds any.
func (checkCommand) Run(ctx context.Context, o outside, role Role) error {
	return withReady(ctx, o, role, (*service).readyForCheck, func(s *service) error {
		findings, err := s.checkDatabase(ctx, func(check.Step) {})
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

// readyForCheck is like ready, except that tables may be missing, since the check reports them.
func (s *service) readyForCheck(ctx context.Context) error {
	if err := s.db.SchemaIsCurrent(ctx); err == nil {
		if missing, err := check.Schema(ctx, s.db); err != nil || len(missing) > 0 {
			return err
		}
	}
	return s.ready(ctx)
}

// bytesStep is the name of the last step of a check, which reads the bytes of contents.
const bytesStep = "bytes"

// checkDatabase checks all rows and the bytes of all contents. It calls at with its progress.
func (s *service) checkDatabase(ctx context.Context, at func(check.Step)) ([]check.Finding, error) {
	findings, err := s.findings(ctx, at)
	if err != nil || slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Check == "tables" }) {
		return findings, err
	}
	if err := s.openContents(); err != nil {
		return nil, err
	}
	at(check.Step{Name: bytesStep, Done: check.Steps(), Found: findings})
	before := len(findings)
	err = s.contents.Verify(ctx, func(text string) error {
		findings = append(findings, check.Finding{Check: bytesStep, Table: "blob_content", Text: text, Do: "store the content again, or restore it from a backup"})
		if len(findings)-before == check.MaxFindings {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return findings, nil
}

// findings checks all rows with the current model. If the model changes during the check, it
// checks again. If tables, columns or migrations are missing, it returns only these findings.
func (s *service) findings(ctx context.Context, at func(check.Step)) ([]check.Finding, error) {
	if missing, err := check.Schema(ctx, s.db); err != nil || len(missing) > 0 {
		return missing, err
	}
	known := catalog.New(s.db, s.model, catalog.Options{Log: s.component("catalog")})
	for {
		if err := known.Refresh(ctx); err != nil {
			return nil, err
		}
		by := known.Present()
		findings, err := check.Follow(ctx, s.db, by.Model, at)
		if err == nil {
			err = known.Refresh(ctx)
		}
		if err != nil || known.Present().Generation == by.Generation {
			return findings, err
		}
	}
}
