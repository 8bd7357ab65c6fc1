package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
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
	Do    string // what to do with it

	mend []Statement // that make it true; none where nothing can be derived
}

// String is the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %d: %s", f.Check, f.Table, f.ID, f.Told())
}

// Told is what is found, and what to do with it.
func (f Finding) Told() string {
	if f.Do == "" {
		return f.Text
	}
	return f.Text + "; " + f.Do
}

// What to do with findings.
const (
	byRepair = "`api repair` fixes it"
	restore  = "restore it from a backup"
	setAgain = "set it again, or restore it from a backup"
)

// rule is one check, and what to do with those of its findings that have no mend.
type rule struct {
	name   string
	run    func(*checker, context.Context) error
	do     string
	source bool // others are derived from what it checks
}

// rules are all of them, in the order in which they run: what others build on comes
// first. The first ofSchema need no model.
var rules = []rule{
	{"tables", (*checker).tables, "restore the database from a backup", true},
	{"keys", (*checker).keys, "", false},
	{"rows of migrations", (*checker).migrated, restore, true},
	{"texts", (*checker).texts, restore, true},
	{"current version", (*checker).current, restore, true},
	{"versions", (*checker).versions, restore, true},
	{"moments", (*checker).moments, restore, true},
	{"audit of a version", (*checker).auditOfVersion, restore, true},
	{"ends of an audit", (*checker).endsOfAudit, restore, false},
	{"attributes", (*checker).attributes, setAgain, false},
	{"folded texts", (*checker).folded, restore, false},
	{"folded comments", (*checker).comments, restore, false},
	{"contents", (*checker).contents, "store the content again, or restore it from a backup", false},
	{"references", (*checker).references, setAgain, false},
	{"states", (*checker).states, setAgain, false},
	{"memberships", (*checker).memberships, "set the role of the member again, or restore it from a backup", false},
	{"number of links", (*checker).counted, "compare the asset with a backup, and set again what is missing", false},
	{"links", (*checker).links, setAgain, false},
	{"required links", (*checker).requiredLinks, setAgain, false},
	{"values", (*checker).values, setAgain, false},
	{"cycles", (*checker).cycles, "set another parent", true},
	{"project tree", (*checker).projectTree, restore, false},
	{"hidden projects", (*checker).hiddenProjects, restore, false},
	{"followers", (*checker).followers, setAgain, false},
	{"own scope", (*checker).ownScope, restore, false},
	{"numbers", (*checker).numbers, restore, false},
	{"ranks", (*checker).ranks, "rank the asset again, or restore it from a backup", false},
	{"moment stamps", (*checker).stamps, restore, false},
	{"sequences", (*checker).sequences, restore, false},
	{"logins", (*checker).logins, "set the member's Username and Password again", false},
	{"passwords", (*checker).passwords, "set it again: `api password --member NAME`", false},
	{"payloads", (*checker).payloads, "it cannot be sent: its receiver can read the change from the feed or from the assets", false},
}

// ofSchema is how many rules need no model.
const ofSchema = 3

// Step is how far a run is.
type Step struct {
	Name  string // of the check that begins; empty: all are done
	Done  int    // checks
	Found []Finding
}

// Steps is how many checks there are.
func Steps() int { return len(rules) }

// Run reads the whole database in one snapshot and returns the inconsistencies, at
// most MaxFindings of each check. Where tables or columns are missing it ends with
// those.
// Errors: only that the database could not be read.
func Run(ctx context.Context, d *db.DB, m *meta.Model) ([]Finding, error) {
	return snapshot(ctx, d, m, false, func(Step) {})
}

// Follow is Run for a database that an installation uses: well-known members have their
// logins as well, and somebody can log in. It calls at before each check and at the end.
func Follow(ctx context.Context, d *db.DB, m *meta.Model, at func(Step)) ([]Finding, error) {
	return snapshot(ctx, d, m, true, at)
}

// snapshot runs all checks in one snapshot.
func snapshot(ctx context.Context, d *db.DB, m *meta.Model, installed bool, at func(Step)) ([]Finding, error) {
	var found []Finding
	err := d.ReadLong(ctx, func(tx *db.Tx) (err error) {
		c := newChecker(tx, m)
		c.installed = installed
		found, err = walk(ctx, c, rules, at)
		return err
	})
	return found, err
}

// Schema returns the tables, columns and rows of migrations that are missing. Without them
// no model can be read.
func Schema(ctx context.Context, d *db.DB) (found []Finding, err error) {
	err = d.ReadLong(ctx, func(tx *db.Tx) error {
		found, err = walk(ctx, newChecker(tx, &meta.Model{}), rules[:ofSchema], func(Step) {})
		return err
	})
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Check == "keys" }), err
}

// walk runs rules in order, and no further one when tables are missing.
func walk(ctx context.Context, c *checker, some []rule, at func(Step)) ([]Finding, error) {
	for i, r := range some {
		at(Step{Name: r.name, Done: i, Found: c.found})
		if err := c.do(ctx, r); err != nil {
			return nil, err
		}
		if i == 0 && len(c.found) > 0 {
			break
		}
	}
	at(Step{Done: len(some), Found: c.found})
	return c.found, nil
}

// checker is one run of the checks.
type checker struct {
	tx    *db.Tx
	m     *meta.Model
	all   []meta.Column  // those that no attribute lies in included
	seeds map[int64]bool // well-known assets, which may lack required values

	installed bool // well-known members have logins; they get them after their assets

	portion int              // rows that one statement reads
	known   map[string][]any // by key: where its parts end
	used    []int            // codes of the types that have assets; nil: not known yet

	rule  rule // that runs
	left  int  // findings it may still report
	bytes int  // of the texts that mend those it has reported
	found []Finding
	mends []Statement // of the next finding

	built *built // what the migrations of this build make; nil until it is needed

	mending bool            // findings with a mend are wanted: of the others only the first are kept
	skip    map[string]bool // findings whose mend did not help
}

func newChecker(tx *db.Tx, m *meta.Model) *checker {
	c := &checker{tx: tx, m: m, all: m.AllColumns(), seeds: map[int64]bool{}, portion: portion, known: map[string][]any{}}
	for _, i := range m.Instances {
		c.seeds[i.Type.Stored(i.ID)] = true
	}
	return c
}

// do runs one rule.
func (c *checker) do(ctx context.Context, r rule) error {
	c.rule, c.left, c.mends, c.bytes = r, MaxFindings, nil, 0
	if c.mending {
		c.left = batch
	}
	if err := r.run(c, ctx); err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("check %s: %w", r.name, err)
	}
	return nil
}

// errEnough ends a check that has reported enough.
var errEnough = errors.New("enough findings")

// mend adds a statement that mends, with those before it, the next finding.
func (c *checker) mend(query string, args ...any) {
	c.mends = append(c.mends, Statement{SQL: query, Args: args})
}

// report adds a finding. Its error ends the check.
func (c *checker) report(table string, id int64, format string, args ...any) error {
	return c.reportWith(c.rule.do, table, id, format, args...)
}

// reportWith is report for a finding with which something else is to be done than with
// those of its rule.
func (c *checker) reportWith(do, table string, id int64, format string, args ...any) error {
	f := Finding{Check: c.rule.name, Table: table, ID: id, Text: fmt.Sprintf(format, args...), Do: do, mend: c.mends}
	c.mends = nil
	if len(f.mend) > 0 {
		f.Do = byRepair
	}
	if c.mending && (len(f.mend) == 0 || c.skip[f.key()]) {
		if len(c.found) < 2*batch {
			f.mend = nil
			c.found = append(c.found, f)
		}
		return nil
	}
	if !c.mending {
		f.mend = nil
	}
	c.found = append(c.found, f)
	c.bytes += f.bytes()
	if c.left--; c.left == 0 || c.bytes > batchBytes {
		return errEnough
	}
	return nil
}

// bytes returns how many bytes the texts have that mend a finding.
func (f *Finding) bytes() (n int) {
	for _, s := range f.mend {
		for _, a := range s.Args {
			if text, ok := a.(string); ok {
				n += len(text)
			}
		}
	}
	return n
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

// typesInUse calls fn for every type that has assets.
func (c *checker) typesInUse(ctx context.Context, fn func(t *meta.Type) error) error {
	if c.used == nil {
		var err error
		if c.used, err = c.distinct(ctx, "asset", "type", "1 = 1"); err != nil {
			return err
		}
	}
	return c.types(func(t *meta.Type) error {
		if !slices.Contains(c.used, t.Code) {
			return nil
		}
		return fn(t)
	})
}

// types calls fn for every type that may have assets.
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
