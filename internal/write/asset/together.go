package asset

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// effects is what a request has done so far, as later commands and its end must know it. A
// rollback to a savepoint takes it back.
type effects struct {
	first   int64 // moments allocated so far; 0 when none
	last    int64
	read    int              // assets that were read with all their values, as often as they were
	reached reach            // what it has changed so far, as far as it is written
	partOps map[int64]string // by part: the operation on its owner that changed it last

	scopesHidden  bool           // projects were hidden, or shown again
	rolesChanged  bool           // so were roles, or the tree of projects
	loginsChanged bool           // usernames or passwords were set
	createdScopes map[int64]bool // projects that the request has made
	createdRuled  map[int64]bool // assets it has made that are seen by a rule of their own

	ownSealed             int  // passwords hashed in the transaction, for a caller who sets those of no others
	administratorsChanged bool // somebody may administer the system no longer
}

func (f effects) clone() effects {
	f.partOps, f.createdScopes, f.createdRuled = maps.Clone(f.partOps), maps.Clone(f.createdScopes), maps.Clone(f.createdRuled)
	return f
}

// wholeTries is how often commands run all together before they run group by group: each
// failure may be what lets another command fail.
const wholeTries = 3

// errOrphans rolls back creates that were made for a command which failed.
var errOrphans = errors.New("a command failed that others were carried out for")

// runGroups is run for commands of which some are carried out for a later one: of a command
// and those for it, none is carried out where the command is not.
func (s *Session) runGroups(ctx context.Context, commands []*Command) ([]Outcome, error) {
	for try := 1; ; try++ {
		was, outcomes := s.clone(), []Outcome(nil)
		err := s.tx.Savepoint(ctx, func() (err error) {
			if outcomes, err = s.run(ctx, commands); err == nil && findOrphans(commands) {
				err = errOrphans
			}
			return err
		})
		if !errors.Is(err, errOrphans) {
			return outcomes, err
		}
		s.effects = was
		resetHandles(commands)
		if n := groupLen(commands); try >= wholeTries && n < len(commands) {
			return s.runEachGroup(ctx, commands)
		}
	}
}

func (s *Session) runEachGroup(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes := make([]Outcome, 0, len(commands))
	for len(commands) > 0 {
		n := groupLen(commands)
		done, err := s.runGroups(ctx, commands[:n])
		if err != nil {
			return nil, err
		}
		outcomes, commands = append(outcomes, done...), commands[n:]
	}
	return outcomes, nil
}

// groupLen returns how many commands at the beginning belong together.
func groupLen(commands []*Command) int {
	end := commands[0]
	for end.For != nil {
		end = end.For
	}
	return slices.Index(commands, end) + 1
}

// findOrphans decides the outcome of creates that were made for a command which failed, or
// matches nothing, and reports whether there are some.
func findOrphans(commands []*Command) (found bool) {
	for _, c := range slices.Backward(commands) {
		if c.For == nil || c.outcome.Err != nil || c.outcome.Skipped {
			continue
		}
		switch of := c.For; {
		case of.outcome.Skipped:
			c.decided = &Outcome{Skipped: true}
		case of.outcome.Err != nil:
			c.decided = &Outcome{Err: badToken(of.self())}
		default:
			continue
		}
		c.outcome, found = *c.decided, true
		if of := c.For; of.decided == nil { // it fails for its own reason, not since this one is missing
			of.decided = &Outcome{Err: of.outcome.Err, Skipped: of.outcome.Skipped}
		}
	}
	return found
}

// self is what a message calls the asset of a command.
func (c *Command) self() Ref {
	if c.Verb == Create {
		return Ref{Handle: c.Self}
	}
	return c.Target
}
