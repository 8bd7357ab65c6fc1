package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/model/catalog"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
)

// repairCommand repairs rows that can be derived from other rows.
type repairCommand struct {
	Yes bool `help:"Repair the database. Stop every process of the service first."`
}

// Run prints the findings of check, and the statements that would repair them. With --yes it
// executes the statements. Then no other process may use the database.
// Errors: also if findings remain.
func (c repairCommand) Run(ctx context.Context, o outside, role Role) error {
	return withReady(ctx, o, role, (*service).readyForCheck, func(s *service) error {
		state, err := s.db.SchemaState(ctx)
		if err != nil {
			return err
		}
		if state.OfNewer() {
			return fmt.Errorf("repair: release %s has migrated this database: run `repair` of that release",
				state.Release)
		}
		p := &repairPrinter{to: o.stdout}
		if c.Yes {
			err = s.repair(ctx, p)
		} else {
			err = s.planRepair(ctx, p)
		}
		return errors.Join(err, p.err)
	})
}

// planRepair prints what repair would do.
func (s *service) planRepair(ctx context.Context, p *repairPrinter) error {
	found, err := check.Plan(ctx, s.db, s.presentModel)
	if err != nil {
		return fmt.Errorf("repair: %w", err)
	}
	repairable := 0
	for _, f := range found {
		p.finding(f)
		if len(f.Mends()) > 0 {
			repairable++
		}
	}
	switch {
	case len(found) == 0:
		p.line("the database agrees with itself")
		return nil
	case repairable == 0:
		return fmt.Errorf("repair: %d findings, none of which can be repaired from other rows", len(found))
	}
	return fmt.Errorf("repair: nothing was changed; of %d findings %d can be repaired, by %d statements: stop every process and run `repair --yes`",
		len(found), repairable, p.statements)
}

// repair repairs the rows that can be derived from other rows, and prints each finding that it
// repairs. Then it prints the findings that remain.
func (s *service) repair(ctx context.Context, p *repairPrinter) error {
	if err := s.nobodyRuns(ctx, s.db); err != nil && !db.IsNoTable(err) {
		return fmt.Errorf("nothing was changed; %w", err)
	}
	repaired := 0
	left, err := check.Repair{
		Guard: s.nobodyRuns,
		Record: func(ctx context.Context, tx *db.Tx, name string, findings int) error {
			return trail.Record(ctx, tx, trail.Event{Kind: trail.Repaired, Count: findings, Detail: trail.Detail{Changed: []string{name}}})
		},
		Mended: func(f check.Finding) { repaired++; p.finding(f) },
	}.Do(ctx, s.db, s.presentModel)
	for _, f := range left {
		p.finding(f)
	}
	p.line(fmt.Sprintf("%d findings repaired, by %d statements", repaired, p.statements))
	if err != nil {
		return fmt.Errorf("repair: not everything was repaired, and repair may be run again: %w", err)
	}
	if len(left) > 0 {
		return fmt.Errorf("repair: %d findings are left", len(left))
	}
	return nil
}

// presentModel reads the current model from the database.
func (s *service) presentModel(ctx context.Context) (*meta.Model, error) {
	known := catalog.New(s.db, s.model, catalog.Options{Log: s.component("catalog")})
	if err := known.Refresh(ctx); err != nil {
		return nil, err
	}
	return known.Present().Model, nil
}

// nobodyRuns returns an error if a process of the service runs, or has run within the last
// minute.
func (s *service) nobodyRuns(ctx context.Context, q db.Querier) error {
	all, err := processes.List(ctx, q, s.db.Dialect)
	if err != nil {
		return err
	}
	var running []string
	for _, r := range all {
		if r.Alive {
			running = append(running, r.Role+" on "+r.Host)
		}
	}
	if len(running) == 0 {
		return nil
	}
	return fmt.Errorf("repair: these processes run, or were seen within the last minute: %s; "+
		"stop them, because nothing may write during a repair", strings.Join(running, ", "))
}

// repairPrinter prints findings and the statements that repair them.
type repairPrinter struct {
	to         io.Writer
	statements int   // printed so far
	err        error // first error of the writer
}

func (p *repairPrinter) line(text string) {
	if _, err := fmt.Fprintln(p.to, text); err != nil && p.err == nil {
		p.err = err
	}
}

func (p *repairPrinter) finding(f check.Finding) {
	p.line(f.String())
	for _, s := range f.Mends() {
		p.statements++
		p.line("    " + s.String())
	}
}
