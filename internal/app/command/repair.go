package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// repairCommand repairs rows that can be derived from other rows.
type repairCommand struct {
	Yes bool `help:"Repair the database. Stop every process of the service first."`
}

// Run prints the findings of check, and the statements that would repair them. With --yes it
// executes the statements; no other process may use the database meanwhile.
// Errors: also if findings remain.
func (c repairCommand) Run(ctx context.Context, o outside, role app.Role) error {
	return withInstallation(ctx, o, role, func(i *app.Installation) error {
		if err := readyForCheck(ctx, i); err != nil {
			return err
		}
		state, err := i.DB.SchemaState(ctx)
		if err != nil {
			return err
		}
		if state.OfNewer() {
			return fmt.Errorf("repair: release %s has migrated this database: run `repair` of that release",
				state.Release)
		}
		r := &repairer{Installation: i, to: o.stdout}
		if c.Yes {
			err = r.repair(ctx)
		} else {
			err = r.plan(ctx)
		}
		return errors.Join(err, r.err)
	})
}

// repairer repairs a database. It prints findings and the statements that repair them.
type repairer struct {
	*app.Installation
	to         io.Writer
	statements int   // printed so far
	err        error // first error of the writer
}

// plan prints what repair would do.
func (r *repairer) plan(ctx context.Context) error {
	found, err := check.Plan(ctx, r.DB, r.presentModel)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	repairable := 0
	for _, f := range found {
		r.finding(f)
		if len(f.Mends()) > 0 {
			repairable++
		}
	}
	switch {
	case len(found) == 0:
		r.line("the database agrees with itself")
		return nil
	case repairable == 0:
		return fmt.Errorf("repair: %d findings, none of which can be repaired from other rows", len(found))
	}
	return fmt.Errorf("repair: nothing was changed; of %d findings %d can be repaired, by %d statements: stop every process and run `repair --yes`",
		len(found), repairable, r.statements)
}

// repair repairs the rows that can be derived from other rows, and prints each finding that it
// repairs. Then it prints the findings that remain.
func (r *repairer) repair(ctx context.Context) error {
	if err := r.nobodyRuns(ctx, r.DB); err != nil && !sqlerror.IsNoTable(err) {
		return fmt.Errorf("nothing was changed; %w", err)
	}
	repaired := 0
	left, err := check.Repair{
		Guard: r.nobodyRuns,
		Record: func(ctx context.Context, tx *db.Tx, name string, findings int) error {
			return trail.Record(ctx, tx, trail.Event{Kind: trail.Repaired, Count: findings, Detail: trail.Detail{Changed: []string{name}}})
		},
		Mended: func(f check.Finding) { repaired++; r.finding(f) },
	}.Do(ctx, r.DB, r.presentModel)
	for _, f := range left {
		r.finding(f)
	}
	r.line(fmt.Sprintf("%d findings repaired, by %d statements", repaired, r.statements))
	if err != nil {
		return fmt.Errorf("repair: not everything was repaired, and repair may be run again: %w", err)
	}
	if len(left) > 0 {
		return fmt.Errorf("repair: %d findings are left", len(left))
	}
	return nil
}

// presentModel reads the current model from the database.
func (r *repairer) presentModel(ctx context.Context) (*meta.Model, error) {
	known := catalog.New(r.DB, meta.Default(), catalog.Options{Log: r.Log.With("component", "catalog")})
	if err := known.Refresh(ctx); err != nil {
		return nil, err
	}
	return known.Present().Model, nil
}

// nobodyRuns returns an error if a process of the service runs, or has run within the last
// minute.
func (r *repairer) nobodyRuns(ctx context.Context, q db.Querier) error {
	all, err := processes.List(ctx, q, r.DB.Dialect)
	if err != nil {
		return err
	}
	var running []string
	for _, p := range all {
		if p.Alive {
			running = append(running, p.Role+" on "+p.Host)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return fmt.Errorf("repair: these processes run, or were seen within the last minute: %s; "+
		"stop them, because nothing may write during a repair", strings.Join(running, ", "))
}

func (r *repairer) line(text string) {
	if _, err := fmt.Fprintln(r.to, text); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *repairer) finding(f check.Finding) {
	r.line(f.String())
	for _, s := range f.Mends() {
		r.statements++
		r.line("    " + s.String())
	}
}
