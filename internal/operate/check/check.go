package check

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// forever is the value of until_moment in rows that have not ended.
const forever = db.Forever

// MaxFindings is the maximum number of findings of one check.
const MaxFindings = 20

// Finding is one inconsistency.
type Finding struct {
	Check string // the name of the rule that found the inconsistency
	Table string
	ID    int64  // id of the row, for example of an asset or an audit; 0: the row has no id
	Text  string // the problem
	Do    string // what an administrator should do about it; empty: nothing

	mend []Statement // the statements that fix the inconsistency; nil: other rows do not determine the right values
}

// String returns the finding as one line.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s %d: %s", f.Check, f.Table, f.ID, f.Told())
}

// Told returns Text and Do, with a semicolon between them.
func (f Finding) Told() string {
	if f.Do == "" {
		return f.Text
	}
	return f.Text + "; " + f.Do
}

// Values of Finding.Do.
const (
	byRepair = "`api repair` fixes it"
	restore  = "restore it from a backup"
	setAgain = "set it again, or restore it from a backup"
)

// rule is one check.
type rule struct {
	name   string
	run    func(*checker, context.Context) error
	do     string // what an administrator should do about findings that a repair cannot fix
	source bool   // true: other rows are derived from the rows that the rule checks
}

// rules has all checks in the order in which they run. A check comes after the checks that it
// depends on. The first ofSchema checks need no model.
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
	{"links", (*checker).links, setAgain, false},
	{"required links", (*checker).requiredLinks, setAgain, false},
	{"values", (*checker).values, setAgain, false},
	{"number of links", (*checker).counted, "compare the asset with a backup, and set again what is missing", false},
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
	{"payloads", (*checker).payloads, "it cannot be sent: its receiver can read the change from the feed or the assets", false},
}

// ofSchema is the number of rules that need no model.
const ofSchema = 3

// Step is the progress of a run of the checks.
type Step struct {
	Name  string    // the check that begins; empty: all checks have ended
	Done  int       // number of checks that have ended
	Found []Finding // findings so far
}

// Steps returns the number of checks.
func Steps() int { return len(rules) }

// Run reads the whole database in one snapshot and returns the inconsistencies, at most MaxFindings
// of each check. If tables or columns are missing, it returns only these findings. It returns an
// error if the database cannot be read.
func Run(ctx context.Context, d *db.DB, m *meta.Model) ([]Finding, error) {
	return snapshot(ctx, d, m, false, func(Step) {})
}

// Follow does the same as Run, and makes two more checks, which the database of an installation
// must pass. Well-known members must have logins, and at least one login must have a password.
// Before each check, and once after the last check, Follow calls the function at.
func Follow(ctx context.Context, d *db.DB, m *meta.Model, at func(Step)) ([]Finding, error) {
	return snapshot(ctx, d, m, true, at)
}

// snapshot runs all checks in one snapshot. If installed is true, it also makes the two additional
// checks of Follow.
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

// Schema returns findings for missing tables, missing columns and missing rows of migrations.
// Without these rows the model cannot be read.
func Schema(ctx context.Context, d *db.DB) (found []Finding, err error) {
	err = d.ReadLong(ctx, func(tx *db.Tx) error {
		found, err = walk(ctx, newChecker(tx, &meta.Model{}), rules[:ofSchema], func(Step) {})
		return err
	})
	return slices.DeleteFunc(found, func(f Finding) bool { return f.Check == "keys" }), err
}

// walk runs rules in order. If the first rule has findings, walk does not run the other rules.
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
	all   []meta.Column  // all columns of attributes, also the unused columns
	seeds map[int64]bool // ids of the well-known assets, which may have no value for a required attribute

	installed bool // true: make the additional checks of Follow

	portion int              // about how many rows one statement reads
	known   map[string][]any // by key, as text: the last value of the column in each part, except in the last part
	used    []int            // codes of the types that have assets; nil: not read yet

	rule  rule // the rule that runs
	left  int  // how many more findings the rule may report
	bytes int  // size in bytes of the texts in the statements of the rule's findings
	found []Finding
	mends []Statement // the statements that fix the finding that is reported next

	mending bool            // true: for a repair; findings keep their statements, and few without statements are stored
	skip    map[string]bool // keys of findings whose statements have run and did not help
}

func newChecker(tx *db.Tx, m *meta.Model) *checker {
	c := &checker{tx: tx, m: m, all: m.AllColumns(), seeds: map[int64]bool{}, portion: portion, known: map[string][]any{}}
	for _, i := range m.Instances {
		c.seeds[i.Type.Stored(i.ID)] = true
	}
	return c
}

// do runs one rule and appends its findings to c.found.
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

// errEnough ends a check that has reported the maximum number of findings.
var errEnough = errors.New("enough findings")

// mend adds a statement that fixes the finding that is reported next.
func (c *checker) mend(query string, args ...any) {
	c.mends = append(c.mends, Statement{SQL: query, Args: args})
}

// report adds a finding. If it returns an error, the caller must return that error to end the
// check.
func (c *checker) report(table string, id int64, format string, args ...any) error {
	return c.reportWith(c.rule.do, table, id, format, args...)
}

// reportWith does the same as report, but sets Finding.Do to the parameter do, and not to the text
// of the rule.
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

// bytes returns the total size of the texts in the statements that fix a finding.
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

// row scans the columns of the current row.
type row func(into ...any) error

// each calls fn for every row of a query, one at a time.
func (c *checker) each(ctx context.Context, fn func(scan row) error, query string, args ...any) error {
	return db.Each(ctx, c.tx, query, args, func(r db.Scanner) error { return fn(r.Scan) })
}

// concrete returns the type with a code, or nil if the type is unknown or abstract.
func (c *checker) concrete(code int) *meta.Type {
	t, ok := c.m.TypeByCode(code)
	if !ok || t.Abstract {
		return nil
	}
	return t
}

// typesInUse calls fn for every type that has assets, except abstract types.
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

// types calls fn for every type that is not abstract.
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
