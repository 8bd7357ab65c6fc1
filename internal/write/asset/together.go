package asset

import (
	"context"
	"errors"
	"maps"
	"slices"
)

// effects describes the changes of a request so far, for later commands and for the end of the
// request. After a rollback to a savepoint, the session gets its earlier effects back.
type effects struct {
	first   int64            // the first moment of the request; 0: none is allocated
	last    int64            // the last moment of the request; 0: none is allocated
	read    int              // how many times assets were read in full
	reached reach            // counts of the changes of the written batches
	partOps map[int64]string // key: id of a part; value: the operation on its owner that changed the part last

	scopesHidden  bool           // true if projects were hidden or shown again
	rolesChanged  bool           // true if roles, members or the tree of projects were changed
	loginsChanged bool           // true if usernames or passwords were set
	createdScopes map[int64]bool // ids of projects that the request has created
	createdRuled  map[int64]bool // ids of assets that the request has created, of types with a rule (meta.Type.Seen)

	recorded     []recorded // see RecordEffect; only appended to, so that a clone shares it
	recordedSize int        // bytes of the texts in recorded

	// seenAtOnce is the maximum number of commands in a batch that may change which assets the caller sees;
	// 0 means 1. It doubles with each batch in which none of them does, and is 1 after one that does.
	seenAtOnce int

	ownSealed             int  // number of passwords hashed in the transaction; see MaxOwnPasswords
	administratorsChanged bool // true if a member may have lost the right to administer the system
}

func (f effects) clone() effects {
	f.partOps = maps.Clone(f.partOps)
	f.createdScopes, f.createdRuled = maps.Clone(f.createdScopes), maps.Clone(f.createdRuled)
	return f
}

// wholeTries is how many times all commands run together before each group runs separately. One
// repetition may not be enough, because a group that is left out may make another command fail.
const wholeTries = 3

// errOrphans rolls back a try in which a command failed, but creates for that command (Command.For)
// succeeded.
var errOrphans = errors.New("a command failed, but creates for it succeeded")

// runGroups does the same as run, and supports creates for a later command (Command.For). A group
// is a command and the creates for it. If the command fails or matches nothing, no command of its
// group is carried out.
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

// groupLen returns the number of commands in the first group.
func groupLen(commands []*Command) int {
	end := commands[0]
	for end.For != nil {
		end = end.For
	}
	return slices.Index(commands, end) + 1
}

// findOrphans finds creates that succeeded although the command for which they were made failed
// or matched nothing. It sets the outcomes of these creates for the next try, and reports whether
// it found any.
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
		if of := c.For; of.decided == nil { // keep the error of this try; the next try would report a missing asset
			of.decided = &Outcome{Err: of.outcome.Err, Skipped: of.outcome.Skipped}
		}
	}
	return found
}

// self returns the Ref that messages use for the asset of a command.
func (c *Command) self() Ref {
	if c.Verb == Create {
		return Ref{Handle: c.Self}
	}
	return c.Target
}
