package check

import (
	"context"
	"errors"
	"fmt"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

// forever is the until_moment of a current row.
const forever = db.Forever

// MaxFindings is how many findings one check reports before it stops.
const MaxFindings = 20

// Finding is one inconsistency.
type Finding struct {
	Check string // the rule that is broken
	Table string
	ID    int64  // stored id of the row: an asset, an audit; 0 where a row has none
	Text  string // what is expected and what is found
}

// String is the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %d: %s", f.Check, f.Table, f.ID, f.Text)
}

// checks are all rules, in the order in which they run: what others build on
// comes first.
var checks = []struct {
	name string
	run  func(*checker, context.Context) error
}{
	{"current version", (*checker).current},
	{"versions", (*checker).versions},
	{"moments", (*checker).moments},
	{"audit of a version", (*checker).auditOfVersion},
	{"ends of an audit", (*checker).endsOfAudit},
	{"attributes", (*checker).attributes},
	{"folded texts", (*checker).folded},
	{"folded comments", (*checker).comments},
	{"contents", (*checker).contents},
	{"references", (*checker).references},
	{"links", (*checker).links},
	{"required links", (*checker).requiredLinks},
	{"values", (*checker).values},
	{"cycles", (*checker).cycles},
	{"project tree", (*checker).projectTree},
	{"hidden projects", (*checker).hiddenProjects},
	{"memberships", (*checker).memberships},
	{"followers", (*checker).followers},
	{"own scope", (*checker).ownScope},
	{"states", (*checker).states},
	{"numbers", (*checker).numbers},
	{"ranks", (*checker).ranks},
	{"sequences", (*checker).sequences},
	{"moment stamps", (*checker).stamps},
	{"logins", (*checker).logins},
}

// Step is how far a run is.
type Step struct {
	Name  string // of the check that begins; empty: all are done
	Done  int    // checks
	Found []Finding
}

// Steps is how many checks there are.
func Steps() int { return len(checks) }

// Run reads the whole database in one snapshot and returns the inconsistencies, at
// most MaxFindings of each check.
// Errors: only that the database could not be read.
func Run(ctx context.Context, d *db.DB, m *meta.Model) ([]Finding, error) {
	return Follow(ctx, d, m, func(Step) {})
}

// Follow is Run, and calls at before each check and at the end.
func Follow(ctx context.Context, d *db.DB, m *meta.Model, at func(Step)) ([]Finding, error) {
	var found []Finding
	err := d.ReadLong(ctx, func(tx *db.Tx) error {
		var err error
		found, err = runIn(ctx, tx, m, at)
		return err
	})
	return found, err
}

// runIn is Follow inside a transaction.
func runIn(ctx context.Context, tx *db.Tx, m *meta.Model, at func(Step)) ([]Finding, error) {
	c := &checker{tx: tx, m: m, all: m.AllColumns(), seeds: map[int64]bool{}}
	for _, i := range m.Instances {
		c.seeds[i.Type.Stored(i.ID)] = true
	}
	for i, check := range checks {
		at(Step{Name: check.name, Done: i, Found: c.found})
		c.name, c.left = check.name, MaxFindings
		if err := check.run(c, ctx); err != nil && !errors.Is(err, errEnough) {
			return nil, fmt.Errorf("check %s: %w", check.name, err)
		}
	}
	at(Step{Done: len(checks), Found: c.found})
	return c.found, nil
}

// checker is one run of the checks.
type checker struct {
	tx    *db.Tx
	m     *meta.Model
	all   []meta.Column  // those that no attribute lies in included
	seeds map[int64]bool // well-known assets, which may lack required values

	name  string // of the current check
	left  int    // findings it may still report
	found []Finding
}

// errEnough ends a check that has reported enough.
var errEnough = errors.New("enough findings")

// report adds a finding. Its error ends the check.
func (c *checker) report(table string, id int64, format string, args ...any) error {
	c.found = append(c.found, Finding{c.name, table, id, fmt.Sprintf(format, args...)})
	if c.left--; c.left == 0 {
		return errEnough
	}
	return nil
}

// row scans the current row.
type row func(into ...any) error

// each calls fn for every row of a query, one at a time.
func (c *checker) each(ctx context.Context, fn func(scan row) error, query string, args ...any) error {
	return db.Each(ctx, c.tx, query, args, func(r db.Scanner) error { return fn(r.Scan) })
}

// concrete returns the type with a code, nil for an unknown or abstract one.
func (c *checker) concrete(code int) *meta.Type {
	t, ok := c.m.TypeByCode(code)
	if !ok || t.Abstract {
		return nil
	}
	return t
}

// types calls fn for every type that has rows.
func (c *checker) types(fn func(t *meta.Type) error) error {
	for _, t := range c.m.Types {
		if t.Abstract {
			continue
		}
		if err := fn(t); err != nil {
			return err
		}
	}
	return nil
}
