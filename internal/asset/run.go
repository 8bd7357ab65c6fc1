package asset

import (
	"context"
	"errors"
	"strings"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// run is one stretch of commands in the making: what it has loaded, what it
// changed in memory, and what is to be written. It is a pure function of the
// commands and the database, so it can be dropped and done again.
type run struct {
	s *Session
	e *Engine

	rows             map[int64]*row
	references       map[int64]*reference
	missing          map[int64]bool
	reads            map[int64]*row // read without a lock
	edgeSets         map[int64]*edgeSet
	named            map[nameKey]named
	dependents       map[int64][]*row // followers by the asset they follow
	dependentsLoaded map[int64]bool   // behind is loaded for it
	parents          map[parentKey]int64
	locked           map[string]bool // rows of tree_lock

	parts       map[int64][]*row    // by owner; only a hint: a part may have moved on
	partsLoaded map[int64]bool      // parts is loaded for it
	deletions   map[int64]*deletion // of deleted assets; nil for one without
	overLimit   bool                // the request reaches more assets than one may

	nextID int64

	ancestors map[int64][]ancestry

	changes *changes
}

func (s *Session) newRun() *run {
	r := &run{
		s: s, e: s.e,
		rows: map[int64]*row{}, references: map[int64]*reference{}, missing: map[int64]bool{}, reads: map[int64]*row{},
		edgeSets: map[int64]*edgeSet{}, named: map[nameKey]named{},
		dependents: map[int64][]*row{}, dependentsLoaded: map[int64]bool{}, parents: map[parentKey]int64{}, locked: map[string]bool{},
		parts: map[int64][]*row{}, partsLoaded: map[int64]bool{}, deletions: map[int64]*deletion{}, ancestors: map[int64][]ancestry{},
	}
	r.changes = &changes{s: s, loaded: r, numbers: map[*meta.Type]int64{}, ranks: map[string]int64{}}
	return r
}

// Run carries out commands in order and writes what they did. Outcomes stand
// in the order of the commands; a failing command fails alone.
// Errors: only what ends the whole request.
func (s *Session) Run(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(commands))
	for len(commands) > 0 {
		n := s.batchLen(commands)
		done, err := s.runBatch(ctx, commands[:n])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, done...)
		commands = commands[n:]
	}
	return outcomes, nil
}

// runBatch runs commands together; when the database refuses what only it
// can refuse, it runs them again one by one, so that only the culprit fails.
func (s *Session) runBatch(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes, guarded, err := s.attempt(ctx, commands)
	if errors.Is(err, errSplit) {
		return s.halves(ctx, commands)
	}
	if !guarded || !isCommands(err) && fault.KindOf(err) != fault.Conflict {
		return outcomes, err
	}
	if len(commands) == 1 {
		resetHandles(commands)
		commands[0].outcome = Outcome{Err: s.refusal(commands[0], err)}
		return []Outcome{commands[0].outcome}, nil
	}
	resetHandles(commands)
	outcomes = outcomes[:0]
	for i := range commands {
		one, err := s.runBatch(ctx, commands[i:i+1])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, one...)
	}
	return outcomes, nil
}

// halves runs commands that reach too much in two stretches.
func (s *Session) halves(ctx context.Context, commands []*Command) ([]Outcome, error) {
	half := len(commands) / 2
	outcomes, err := s.runBatch(ctx, commands[:half])
	if err != nil {
		return nil, err
	}
	rest, err := s.runBatch(ctx, commands[half:])
	return append(outcomes, rest...), err
}

// attempt runs commands once, under a savepoint when the database may refuse
// something that memory cannot know.
func (s *Session) attempt(ctx context.Context, commands []*Command) (outcomes []Outcome, guarded bool, err error) {
	resetHandles(commands)
	r := s.newRun()
	if err := r.prepare(ctx, commands); err != nil {
		return nil, false, err
	}
	if outcomes, err = r.execute(ctx, commands); err != nil {
		return nil, false, err
	}
	if guarded = r.changes.mayBeRefused(); guarded {
		err = s.tx.Savepoint(ctx, func() error { return r.write(ctx) })
	} else {
		err = r.write(ctx)
	}
	if err == nil {
		r.changes.recordInSession()
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.as != nil {
			o.Result = o.about.oid()
			o.Result.Moment = o.as.moment
			o.about, o.as = nil, nil
		}
	}
	return outcomes, guarded, err
}

// resetHandles forgets what an attempt that was undone told the handles.
func resetHandles(commands []*Command) {
	for _, c := range commands {
		if c.Self != nil {
			c.Self.Made = false
		}
	}
}

// refusal is what a command answers that the database refused: the keeper of
// logins says it itself, otherwise a value is there twice.
func (s *Session) refusal(c *Command, err error) error {
	if strings.HasPrefix(fault.Public(err), "Violation'") {
		return fault.Invalidf(fault.NoPlace, "%s", fault.Public(err))
	}
	t := s.typeOf(c)
	if t == nil {
		return err
	}
	for _, ch := range c.Changes {
		if a, ok := t.Attr(ch.Name); ok && (a.Place.Kind == meta.InValues || ch.Name == "Username") {
			return notUnique(t.Name, ch.Name)
		}
	}
	return err
}

// execute checks and does every command in memory.
func (r *run) execute(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes := make([]Outcome, len(commands))
	for i, c := range commands {
		r.changes.begin()
		o := r.apply(ctx, c)
		if o.Err == nil && !o.Skipped {
			o.Err = r.propagate(ctx)
		}
		if o.Err != nil && !isCommands(o.Err) {
			return nil, o.Err
		}
		if o.Err == nil {
			r.changes.commit()
			if c.Self != nil && c.Verb == Create {
				c.Self.Made = true
			}
			if o.about != nil {
				o.as = o.about.cur
			}
		} else {
			r.changes.rollback()
		}
		if err := r.checkLimit(); err != nil {
			return nil, err
		}
		outcomes[i], c.outcome = o, o
	}
	return outcomes, nil
}

// isCommands reports whether an error is a command's own failure, not the
// request's.
func isCommands(err error) bool {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Denied, fault.NotFound:
		return true
	}
	return false
}

func (r *run) apply(ctx context.Context, c *Command) Outcome {
	if c.Within != nil && c.Within.outcome.Skipped {
		return Outcome{Skipped: true}
	}
	if c.Within != nil && c.Within.outcome.Err != nil {
		return Outcome{Err: badToken(c.Context)}
	}
	switch c.Verb {
	case Create:
		return r.create(ctx, c)
	case Update:
		return r.update(ctx, c)
	}
	return r.operate(ctx, c)
}
