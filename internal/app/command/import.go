package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/importer"
)

// importCommand imports the records of a file into a running service. It is a client of the
// service, so it needs none of the settings of a process.
type importCommand struct {
	Format       string        `arg:"" enum:"csv,jira,jsonl" help:"Format of the file: csv, jira (an export as CSV, or pages of a search as JSON) or jsonl."`
	File         string        `arg:"" help:"The file, or - for standard input."`
	Map          string        `placeholder:"FILE" help:"File that maps columns to attributes; see docs/import.md."`
	DryRun       bool          `help:"Check the import with the service, but change nothing."`
	Update       bool          `help:"Update existing assets from the file."`
	Project      string        `placeholder:"NAME" help:"Name or Oid of the project for all records. Projects that records name are found or created below it."`
	WithoutDates bool          `help:"Leave out original dates and authors. Only a system administrator can import them."`
	URL          string        `name:"url" help:"Address of the service. Default: ALDS_URL."`
	Work         string        `placeholder:"FOLDER" help:"Folder for the files of rejected records and of the current request. Default: the folder of FILE."`
	Batch        int           `default:"500" help:"Records in one request."`
	Patience     time.Duration `default:"2m" help:"How long to wait for a service that does not answer."`
}

// Validate checks the number of records in one request.
func (c importCommand) Validate() error {
	if c.Batch < 1 || c.Batch > 10_000 {
		return errors.New("--batch is a number from 1 to 10000")
	}
	return nil
}

// Run imports the file.
func (c importCommand) Run(ctx context.Context, o outside) error {
	m, err := readMapping(c.Format, c.Map)
	if err != nil {
		return err
	}
	service := config.ClientFromEnv(o.Getenv)
	if c.URL != "" {
		service.URL = c.URL
	}
	counts, err := importer.Run(ctx, importer.Options{
		Format: c.Format, File: c.File, URL: service.URL, Token: service.Token.Reveal(), Project: c.Project, Work: c.Work,
		DryRun: c.DryRun, Update: c.Update, WithoutDates: c.WithoutDates, Batch: c.Batch, Patience: c.Patience,
		Stdin: o.stdin, Out: o.stdout, Log: o.Stderr,
	}, m)
	switch {
	case err == nil, errors.Is(err, importer.ErrProblems):
		return err
	case c.DryRun, counts.Records == 0: // nothing was imported
		return fmt.Errorf("import: %w", err)
	}
	return fmt.Errorf("import: %w; run the same command again to continue", err)
}

// readMapping reads a mapping file. Without a name it returns the default mapping of the format.
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
