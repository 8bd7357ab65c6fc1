package check

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// batch is how many findings are mended in one transaction, and batchBytes about how many
// bytes their texts have.
const (
	batch      = 200
	batchBytes = 32 << 20
)

// Statement is a statement that mends a finding, or a part of it.
type Statement struct {
	SQL    string
	Args   []any
	Alters bool // a table; it is no part of a transaction
}

// shown is how many characters of a value String shows.
const shown = 60

// String is the statement with its values, long ones cut, as an operator reads it; it is
// not to be run.
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

// Mends are the statements that mend a finding; none where nothing can be derived.
func (f Finding) Mends() []Statement { return f.mend }

// key tells findings apart.
func (f Finding) key() string { return fmt.Sprint(f.Check, f.Table, f.ID, f.Text) }

// Repair is how a database is mended.
type Repair struct {
	// Guard is called in each transaction, before it changes anything; its error ends
	// the repair.
	Guard func(ctx context.Context, q db.Querier) error
	// Record notes in the transaction how many findings of a check it mends.
	Record func(ctx context.Context, tx *db.Tx, check string, findings int) error
	// Mended is called for each finding that has been mended.
	Mended func(f Finding)
}

// Model reads the present model, which needs the schema.
type Model func(ctx context.Context) (*meta.Model, error)

// Plan returns the findings, at most batch of each check that can be mended; Mends of each
// is what Do would do. It ends where Do would need to have mended rows that others are
// derived from: what is found then may be more, or less.
func Plan(ctx context.Context, d *db.DB, m Model) (found []Finding, err error) {
	_, err = each(ctx, d, m, func(r rule, x *repairing) (left []Finding, err error) {
		some, err := x.findings(ctx, r)
		found = append(found, some...)
		return some, err
	})
	return found, err
}

// repairing is what the rules of a repair share.
type repairing struct {
	db    *db.DB
	model *meta.Model
	tried map[string]bool // findings whose mend has run; they count as such without one
	built *built
}

// each calls fn for every rule, and no further one where rows that others are derived from
// have findings that fn has left.
func each(ctx context.Context, d *db.DB, m Model, fn func(r rule, x *repairing) (left []Finding, err error)) (left []Finding, err error) {
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

// findings runs one rule in a snapshot.
func (x *repairing) findings(ctx context.Context, r rule) (found []Finding, err error) {
	err = x.db.ReadLong(ctx, func(tx *db.Tx) error {
		c := newChecker(tx, x.model)
		c.mending, c.installed, c.skip, c.built = true, true, x.tried, x.built
		err := c.do(ctx, r)
		found, x.built = c.found, c.built
		return err
	})
	return found, err
}

// Do mends what can be derived, check by check, and returns the findings that are left.
// Each transaction mends at most batch findings, and each finding is found again in a
// snapshot before: a repair that was broken off goes on when it runs again. Where rows
// that others are derived from cannot be mended it ends there, since what is derived from
// damaged rows is damaged.
//
// Nothing else may write meanwhile: Guard tells.
// Errors: those of the database, of Guard and of Record.
func (r Repair) Do(ctx context.Context, d *db.DB, m Model) (left []Finding, err error) {
	return each(ctx, d, m, func(one rule, x *repairing) ([]Finding, error) { return r.rule(ctx, x, one) })
}

// rule mends the findings of one rule and returns those that are left.
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

// mend runs the statements of findings in one transaction. Those that alter tables come
// before it, one by one.
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

// tableOfProcesses is what Guard reads.
const tableOfProcesses = "process"

// alter runs the statements of findings that alter tables.
func (r Repair) alter(ctx context.Context, d *db.DB, found []Finding) error {
	for _, f := range found {
		isGuards := f.Table == tableOfProcesses && f.Check == rules[0].name
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
