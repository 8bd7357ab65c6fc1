package asset

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

// Run executes commands in order and writes their changes. It returns one outcome for each
// command. If a command fails, only the commands that depend on it also fail (Command.For,
// Command.Within).
// Errors: those that end the whole request.
func (s *Session) Run(ctx context.Context, commands []*Command) ([]Outcome, error) {
	if s.finished {
		return nil, errors.New("the request is finished and runs no more commands")
	}
	for _, c := range commands {
		s.specify(c)
		c.decided = nil
	}
	if err := s.lockDefinitions(ctx, commands); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(commands, func(c *Command) bool { return c.For != nil }) {
		return s.runGroups(ctx, commands)
	}
	return s.run(ctx, commands)
}

// run executes commands in batches.
func (s *Session) run(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(commands))
	for len(commands) > 0 {
		n := s.batchLen(commands)
		done, err := s.runBatch(ctx, commands[:n])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, done...)
		commands = commands[len(done):]
	}
	return outcomes, nil
}

// runBatch executes commands together, and returns the outcomes of those that it has executed. These
// are all commands, or only the first of them; see execute. If the commands need too many assets or
// too much text (errSplit), runBatch executes them again in two halves. If the database refuses a
// value, such as a duplicate username, runBatch executes the commands one by one, so that only the
// command with that value fails.
func (s *Session) runBatch(ctx context.Context, commands []*Command) ([]Outcome, error) {
	sealed := s.ownSealed
	outcomes, guarded, err := s.attempt(ctx, commands)
	if errors.Is(err, errSplit) {
		s.ownSealed = sealed
		return s.runParts(ctx, commands, (len(commands)+1)/2)
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
	s.ownSealed = sealed
	return s.runParts(ctx, commands, 1)
}

// runParts executes commands in batches of at most size commands.
func (s *Session) runParts(ctx context.Context, commands []*Command, size int) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(commands))
	for len(commands) > 0 {
		done, err := s.runBatch(ctx, commands[:min(size, len(commands))])
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, done...)
		commands = commands[len(done):]
	}
	return outcomes, nil
}

// attempt executes commands once, as many as execute does, and writes their changes. guarded is true
// if the changes were written under a savepoint. A savepoint is used if the database may refuse a
// value that cannot be checked in memory.
func (s *Session) attempt(ctx context.Context, commands []*Command) (outcomes []Outcome, guarded bool, err error) {
	resetHandles(commands)
	x := s.newExecutor()
	x.loaded.several = len(commands) > 1
	if err := x.prefetch(ctx, commands); err != nil {
		return nil, false, err
	}
	if outcomes, err = x.execute(ctx, commands); err != nil {
		return nil, false, err
	}
	if guarded = x.changes.mayBeRefused(); guarded {
		err = s.tx.Savepoint(ctx, func() error { return x.write(ctx) })
	} else {
		err = x.write(ctx)
	}
	if err == nil {
		x.changes.recordInSession()
	}
	for i := range outcomes {
		if o := &outcomes[i]; o.as != nil {
			o.Result = o.about.oid()
			o.Result.Moment = int64(o.as.moment)
			o.about, o.as = nil, nil
		}
	}
	return outcomes, guarded, err
}

// resetHandles marks the assets of create commands as not yet created, for example after a
// rollback.
func resetHandles(commands []*Command) {
	for _, c := range commands {
		if c.Self != nil {
			c.Self.Made = false
		}
	}
}

// refusal returns the error of a command that the database refused. If the message of err is a
// violation, which Credentials.Set may return, refusal keeps the message. Otherwise the error says
// that a value is not unique.
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

// batchLen returns how many of the first commands can run together. The batch ends before a
// command that must read the changes of an earlier command from the database. It ends after
// seenAtOnce commands that may change which assets the caller sees.
func (s *Session) batchLen(commands []*Command) int {
	changed, changing := map[*meta.Type]bool{}, 0
	first := batchKey(s.typeOf(commands[0]), commands[0])
	for i, c := range commands {
		t := s.typeOf(c)
		if i == MaxBatch || i > 0 && (s.runsAlone(t, c) || batchKey(t, c) != first || namesChanged(t, c, changed)) {
			return i
		}
		if s.runsAlone(t, c) {
			return 1
		}
		if s.changesSeen(c) {
			if changing++; changing >= max(1, s.seenAtOnce) {
				return i + 1
			}
		}
		changed[t] = true
	}
	return len(commands)
}

// batchKey returns a key for an operation that deletes projects or restores assets, else an
// empty text. Commands with different keys cannot share a batch. A restore reads from the
// database how the assets were deleted, and other commands read which projects are deleted.
func batchKey(t *meta.Type, c *Command) string {
	if t == nil || c.Verb != Operate {
		return ""
	}
	op, ok := t.Op(c.Op)
	if !ok || !op.Effect.Back && (!t.Secured.Self || !hidesScopes(op)) {
		return ""
	}
	if t.Secured.Self {
		return op.Name + " " + t.Name
	}
	return op.Name
}

// hidesScopes reports whether an operation on a project may hide it or show it again.
func hidesScopes(op *meta.Op) bool { return op.Effect.To == meta.StateDeleted || op.Effect.Back }

// runsAlone reports whether a command must be the only one in its batch. That is so if the
// command
//   - moves a project in the tree or an asset in its rank space, because the next command
//     needs the new order,
//   - writes a definition, because the next command is checked against the definition,
//   - runs an operation that queries the database.
func (s *Session) runsAlone(t *meta.Type, c *Command) bool {
	if t != nil && (t.Metadata || c.Verb == Undo && t.Secured.Self) {
		return true
	}
	if t != nil && c.Verb == Operate {
		op, ok := t.Op(c.Op)
		return ok && (needsQueries[op.Effect.Code] || op.Effect.When != "")
	}
	for i := range c.Changes {
		if c.Changes[i].Neighbour != nil || s.e.layout.ranks[c.Changes[i].Name] {
			return true
		}
	}
	if t == nil || t.Name != "Scope" {
		return false
	}
	for _, ch := range c.Changes {
		if ch.Name == "Children" || ch.Name == "Parent" && c.Verb != Create {
			return true
		}
	}
	return false
}

// changesSeen reports whether a command may change which assets the caller sees (meta.Seen). An undo
// uses what the caller saw before its batch, because it may have thousands of commands.
func (s *Session) changesSeen(c *Command) bool {
	return !s.who.All && c.Verb == Update && slices.ContainsFunc(c.Changes, func(ch Change) bool {
		return s.e.layout.decideSeen[ch.Name]
	})
}

// namesChanged reports whether a command refers by name to an asset that may have changed in
// the batch. changed contains the types of the assets that have changed.
func namesChanged(t *meta.Type, c *Command, changed map[*meta.Type]bool) bool {
	if t == nil {
		return false
	}
	for i := range c.Changes {
		a, ok := t.Attr(c.Changes[i].Name)
		if !ok || a.Kind != meta.Relation {
			continue
		}
		found := false
		c.Changes[i].each(func(v Value) { found = found || isName(v) })
		if !found {
			continue
		}
		for other := range changed {
			if other == nil || a.Reaches(other) {
				return true
			}
		}
	}
	return false
}
