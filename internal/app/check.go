package app

import (
	"context"
	"errors"
	"slices"

	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/operate/check"
)

// errEnough ends a check that has found the maximum number of findings.
var errEnough = errors.New("enough findings")

// bytesStep is the name of the last step of a check, which reads the contents of attachments and
// images.
const bytesStep = "bytes"

// Check checks all rows, and the contents of all attachments and images. It reports its progress by
// calls of the function at.
func (i *Installation) Check(ctx context.Context, at func(check.Step)) ([]check.Finding, error) {
	findings, err := i.findings(ctx, at)
	if err != nil || slices.ContainsFunc(findings, func(f check.Finding) bool { return f.Check == "tables" }) {
		return findings, err
	}
	if err := i.openContents(); err != nil {
		return nil, err
	}
	at(check.Step{Name: bytesStep, Done: check.Steps(), Found: findings})
	before := len(findings)
	err = i.contents.Verify(ctx, func(text string) error {
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

// findings checks all rows with the current model. If the model changes during the check, it checks
// again. If tables, columns or migrations are missing, it checks no rows and returns only what is
// missing.
func (i *Installation) findings(ctx context.Context, at func(check.Step)) ([]check.Finding, error) {
	if missing, err := check.Schema(ctx, i.DB); err != nil || len(missing) > 0 {
		return missing, err
	}
	known := catalog.New(i.DB, i.model, catalog.Options{Log: i.component("catalog")})
	for {
		if err := known.Refresh(ctx); err != nil {
			return nil, err
		}
		by := known.Present()
		findings, err := check.Follow(ctx, i.DB, by.Model, at)
		if err == nil {
			err = known.Refresh(ctx)
		}
		if err != nil || known.Present().Generation == by.Generation {
			return findings, err
		}
	}
}
