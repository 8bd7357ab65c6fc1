package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/importer"
)

// importCommand brings the records of a file into a running service. It is a client of
// the service and needs no settings of a process.
type importCommand struct {
	Format       string        `arg:"" enum:"csv,jira,jsonl" help:"What the file is: csv, jira (an export as CSV, or pages of a search as JSON) or jsonl."`
	File         string        `arg:"" help:"The file, or - for standard input."`
	Map          string        `placeholder:"FILE" help:"What becomes of the columns; docs/import.md has the form."`
	DryRun       bool          `help:"Have the service try everything, and change nothing."`
	Update       bool          `help:"Bring assets that are there already up to the file."`
	Project      string        `placeholder:"NAME" help:"The project that everything goes into, projects of records below it: an Oid or a name."`
	WithoutDates bool          `help:"Leave out original dates and authors, for which the member must be a system administrator."`
	URL          string        `name:"url" help:"The address of the service; ALDS_URL else."`
	Work         string        `placeholder:"FOLDER" help:"Where the files of rejected records and of the request on its way are put; the folder of FILE else."`
	Batch        int           `default:"500" help:"Records of one request."`
	Patience     time.Duration `default:"2m" help:"How long to wait for a service that does not answer."`
}

// Validate checks the numbers.
func (c importCommand) Validate() error {
	if c.Batch < 1 || c.Batch > 10_000 {
		return errors.New("--batch is a number from 1 to 10000")
	}
	return nil
}

// Run imports.
func (c importCommand) Run(ctx context.Context, o outside) error {
	m, err := readMapping(c.Format, c.Map)
	if err != nil {
		return err
	}
	service := config.ClientFromEnv(o.getenv)
	if c.URL != "" {
		service.URL = c.URL
	}
	counts, err := importer.Run(ctx, importer.Options{
		Format: c.Format, File: c.File, URL: service.URL, Token: service.Token.Reveal(), Project: c.Project, Work: c.Work,
		DryRun: c.DryRun, Update: c.Update, WithoutDates: c.WithoutDates, Batch: c.Batch, Patience: c.Patience,
		Stdin: o.stdin, Out: o.stdout, Log: o.stderr,
	}, m)
	switch {
	case err == nil, errors.Is(err, importer.ErrProblems):
		return err
	case c.DryRun, counts.Records == 0: // nothing has begun
		return fmt.Errorf("import: %w", err)
	}
	return fmt.Errorf("import: %w; the same command goes on where it ended", err)
}

// readMapping reads a mapping file, or takes what the format means without one.
func readMapping(format, name string) (importer.Mapping, error) {
	if name == "" {
		return importer.DefaultMapping(format)
	}
	f, err := os.Open(name)
	if err != nil {
		return importer.Mapping{}, err
	}
	defer f.Close()
	m, err := importer.ReadMapping(f)
	if err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}
