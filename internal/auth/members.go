package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/db"
)

// Bounds of the members that are listed for an actor: MaxMembers and more, or those
// of more than maxMemberScopes projects, are read by each statement instead. MariaDB
// makes a join of a list of a thousand.
const (
	MaxMembers      = 1000
	maxMemberScopes = 4 * db.MaxIn
)

// cachedMembers are the members that an actor with these scopes sees.
type cachedMembers struct {
	scopes  []int64
	members []int64
	changes int64 // of roles by this process before the read
}

// membersOf returns the members that an actor sees, at most maxAge old; roles changed by
// this process count at once. It is nil for all, too many, and where they could not
// be read: the statements of the caller then read them.
func (s *Service) membersOf(ctx context.Context, a Actor) []int64 {
	if a.AllMembers() {
		return nil
	}
	changes := s.roleChanges.Load()
	if c, ok := s.members.get(a.Member); ok && c.changes == changes && slices.Equal(c.scopes, a.Scopes) {
		return c.members
	}
	began := s.now()
	list, err := s.readMembers(ctx, s.db, a)
	if err != nil {
		return nil
	}
	s.members.put(a.Member, cachedMembers{a.Scopes, list, changes}, began)
	return list
}

// RolesChanged is called after this process has committed a write that changed a
// member, who has a role in a project, or what lies above a project.
func (s *Service) RolesChanged() { s.roleChanges.Add(1) }

// readMembers reads the members that an actor sees at the moment of its rights:
// itself, and whoever has a role that reads in a project it reads or in one above.
// Package sqlgen has the same rule. Nil: too many.
func (s *Service) readMembers(ctx context.Context, q db.Querier, a Actor) ([]int64, error) {
	if len(a.Scopes) > maxMemberScopes {
		return nil, nil
	}
	at := a.At
	if at == 0 {
		at = db.Forever - 1
	}
	noRead, roleArgs := db.InArgs(RolesWithoutRead(s.roles.role))
	found := map[int64]bool{a.Member: true}
	for in, args := range db.InChunks(a.Scopes) {
		args = slices.Concat([]any{at, at}, roleArgs, []any{at, at}, args, []any{MaxMembers})
		err := db.Each(ctx, q, `SELECT DISTINCT m.member_id FROM scope_member m
 WHERE m.since_moment <= ? AND m.until_moment > ? AND m.role_id NOT IN `+noRead+`
   AND m.scope_id IN (SELECT c.ancestor_id FROM scope_closure c
        WHERE c.since_moment <= ? AND c.until_moment > ? AND c.descendant_id IN `+in+`)
 LIMIT ?`, args, func(row db.Scanner) error {
			var id int64
			err := row.Scan(&id)
			found[id] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the members that %d sees: %w", a.Member, err)
		}
		if len(found) >= MaxMembers {
			return nil, nil
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// newMemberCache makes the cache of membersOf.
func newMemberCache(now func() time.Time) *cache[int64, cachedMembers] {
	return newCache[int64, cachedMembers](maxActors, maxAge, now)
}
