package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// Limits for the findings that one transaction fixes.
const (
	batch      = 200      // number of findings
	batchBytes = 32 << 20 // size in bytes; a batch ends when the texts in its statements exceed it
)

// Statement is one of the statements that fix a finding.
type Statement struct {
	SQL    string
	Args   []any
	Alters bool // true: the statement creates or alters a table, so it runs outside a transaction
}

// shown is the maximum number of characters that String shows of a text.
const shown = 60

// String returns the statement with its values, for an operator to read. Long texts are shortened,
// so the result must not be run as SQL.
func (s Statement) String() string {
	var b strings.Builder
	at := 0
	for _, r := range s.SQL {
		if r != '?' || at >= len(s.Args) {
			b.WriteRune(r)
			continue
		}
		text := fmt.Sprint(s.Args[at])
		switch v := s.Args[at].(type) {
		case nil:
			text = "NULL"
		case string:
			text = fmt.Sprintf("%.*q", shown, v)
		}
		b.WriteString(text)
		at++
	}
	return b.String()
}

// Mends returns the statements that fix a finding. It returns nil if the finding cannot be fixed
// from other rows, or if Run or Follow returned the finding.
func (f Finding) Mends() []Statement { return f.mend }

// key returns a text that identifies a finding.
func (f Finding) key() string { return fmt.Sprint(f.Check, f.Table, f.ID, f.Text) }

// Repair fixes the findings of the checks in a database.
type Repair struct {
	// Guard returns an error if another process may write. Then the repair ends. Guard is called
	// before each transaction changes anything, and before a table is altered.
	Guard func(ctx context.Context, q db.Querier) error
	// Record stores how many findings of a check were fixed, in the same transaction that fixes
	// them.
	Record func(ctx context.Context, tx *db.Tx, check string, findings int) error
	// Mended is called for each fixed finding after its transaction is committed.
	Mended func(f Finding)
}

// Model reads the current model. It is called after the rules that check the schema.
type Model func(ctx context.Context) (*meta.Model, error)

// Plan returns the findings with the statements that Do would run, and changes nothing. For each
// check, the constant batch limits the number of findings that can be fixed. Plan ends after a
// check with findings in rows that other rows are derived from, because later checks depend on the
// repair of these rows. It returns errors of the database and of m.
func Plan(ctx context.Context, d *db.DB, m Model) (found []Finding, err error) {
	_, err = each(ctx, d, m, func(r rule, x *repairing) (left []Finding, err error) {
		some, err := x.findings(ctx, r)
		found = append(found, some...)
		return some, err
	})
	return found, err
}

// repairing is the state that the rules of a repair share.
type repairing struct {
	db    *db.DB
	model *meta.Model
	tried map[string]bool // keys of findings whose statements have run; such a finding cannot be fixed if it is found again
}

// each calls fn for every rule, and collects the findings that fn returns. It ends early if fn
// returns findings for a rule that checks rows from which other rows are derived.
func each(
	ctx context.Context, d *db.DB, m Model, fn func(r rule, x *repairing) (left []Finding, err error),
) (left []Finding, err error) {
	x := &repairing{db: d, model: &meta.Model{}, tried: map[string]bool{}}
	for i, r := range rules {
		if i == ofSchema {
			if x.model, err = m(ctx); err != nil {
				return left, err
			}
		}
		some, err := fn(r, x)
		left = append(left, some...)
		if err != nil || r.source && len(some) > 0 {
			return left, err
		}
	}
	return left, nil
}

// findings runs one rule in a snapshot and returns its findings.
func (x *repairing) findings(ctx context.Context, r rule) (found []Finding, err error) {
	err = x.db.ReadLong(ctx, func(tx *db.Tx) error {
		c := newChecker(tx, x.model)
		c.mending, c.installed, c.skip = true, true, x.tried
		err := c.do(ctx, r)
		found = c.found
		return err
	})
	return found, err
}

// Do fixes findings check by check, and returns the findings that are left. For each transaction,
// Do runs the check in a new snapshot. The transaction then fixes the findings. The constant batch
// limits their number. An interrupted repair therefore continues when it runs again. Do ends if it
// cannot fix rows that other rows are derived from. Otherwise it would derive rows from damaged
// rows.
//
// Nothing else may write at the same time. Guard checks this. Do returns errors of the database, of
// m, of Guard and of Record.
func (r Repair) Do(ctx context.Context, d *db.DB, m Model) (left []Finding, err error) {
	return each(ctx, d, m, func(one rule, x *repairing) ([]Finding, error) { return r.rule(ctx, x, one) })
}

// rule fixes the findings of one rule and returns the findings that are left.
func (r Repair) rule(ctx context.Context, x *repairing, one rule) (left []Finding, err error) {
	for {
		found, err := x.findings(ctx, one)
		if err != nil {
			return nil, err
		}
		var mended []Finding
		left = left[:0]
		for _, f := range found {
			if len(f.mend) == 0 {
				left = append(left, f)
				continue
			}
			mended, x.tried[f.key()] = append(mended, f), true
		}
		if len(mended) == 0 {
			return left, nil
		}
		if err := r.mend(ctx, x.db, one.name, mended); err != nil {
			return left, err
		}
	}
}

// mend runs the statements of findings in one transaction. Before the transaction, it runs the
// statements that alter tables, one by one.
func (r Repair) mend(ctx context.Context, d *db.DB, name string, found []Finding) error {
	if err := r.alter(ctx, d, found); err != nil {
		return err
	}
	err := d.Write(ctx, func(tx *db.Tx) error {
		if err := r.Guard(ctx, tx); err != nil {
			return err
		}
		for _, f := range found {
			for _, s := range f.mend {
				if s.Alters {
					continue
				}
				if _, err := tx.Exec(ctx, s.SQL, s.Args...); err != nil {
					return fmt.Errorf("%s: %w", s, err)
				}
			}
		}
		return r.Record(ctx, tx, name, len(found))
	})
	if err != nil {
		return err
	}
	for _, f := range found {
		r.Mended(f)
	}
	return nil
}

// tableOfProcesses is the table that Guard reads.
const tableOfProcesses = "process"

// alter runs those statements of findings that alter tables.
func (r Repair) alter(ctx context.Context, d *db.DB, found []Finding) error {
	for _, f := range found {
		isGuards := f.Table == tableOfProcesses && f.Check == rules[0].name // Guard needs this table
		for _, s := range f.mend {
			if !s.Alters {
				continue
			}
			if !isGuards {
				if err := r.Guard(ctx, d); err != nil {
					return err
				}
			}
			if err := d.Alter(ctx, s.SQL); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		if isGuards {
			return errors.New("the table process was missing and has been created: run this command again in twenty seconds, " +
				"when running processes have written into the table")
		}
	}
	return nil
}
