package auth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// Bounds of the members that are listed for an actor: MaxMembers and more, or those
// of more than maxMemberScopes projects, are read by each statement instead. MariaDB
// makes a join of a list of a thousand.
const (
	MaxMembers      = 1000
	maxMemberScopes = 4 * db.MaxIn
)

// cachedMembers are the members that whoever reads the same projects sees.
type cachedMembers struct {
	members []int64
	changes int64 // of roles by this process before the read
}

// membersOf returns the members that an actor sees, at most maxAge old; roles changed by
// this process count at once. It is nil for all, too many, and where they could not
// be read: the statements of the caller then read them.
func (s *Service) membersOf(ctx context.Context, a cachedActor) []int64 {
	if a.AllMembers() {
		return nil
	}
	c, ok := s.members.get(a.scopes)
	if !ok || c.changes != s.roleChanges.Load() {
		var err error
		if c, err = s.memberReads.do(ctx, memberRead{a.scopes, s.roleChanges.Load()}, func(ctx context.Context) (cachedMembers, error) { return s.readMembersNow(ctx, a) }); err != nil {
			return nil
		}
	}
	return withMember(c.members, a.Member)
}

// memberRead is a read of membersOf that several requests may share: of the same
// projects, and begun after the same changes of roles.
type memberRead struct {
	scopes  string
	changes int64
}

func (s *Service) readMembersNow(ctx context.Context, a cachedActor) (cachedMembers, error) {
	changes, began := s.roleChanges.Load(), s.now()
	list, err := s.readMembers(ctx, a.Scopes, db.Forever-1)
	if err != nil {
		return cachedMembers{}, err
	}
	c := cachedMembers{list, changes}
	s.members.put(a.scopes, c, began)
	return c, nil
}

// keyOfScopes returns a key of a list of scopes.
func keyOfScopes(scopes []int64) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, scopes) // a hash takes all
	return string(h.Sum(nil))
}

// withMember returns a list of members with one that belongs to it; nil of nil.
func withMember(list []int64, member int64) []int64 {
	if at, ok := slices.BinarySearch(list, member); list != nil && !ok {
		return slices.Insert(slices.Clone(list), at, member)
	}
	return list
}

// RolesChanged is called after this process has committed a write that changed a
// member, who has a role in a project, or what lies above a project.
func (s *Service) RolesChanged() { s.roleChanges.Add(1) }

// readMembers reads the members that are seen by whoever reads some projects: those who
// have a role that reads in one of them or in one above. Package sqlgen has the same
// rule. Nil: too many.
func (s *Service) readMembers(ctx context.Context, scopes []int64, at int64) ([]int64, error) {
	if len(scopes) > maxMemberScopes {
		return nil, nil
	}
	noRead, roleArgs := db.InArgs(RolesWithoutRead(s.roles.role))
	found := map[int64]bool{}
	for in, args := range db.InChunks(scopes) {
		args = slices.Concat([]any{at, at}, roleArgs, []any{at, at}, args, []any{MaxMembers})
		err := db.Each(ctx, s.db, `SELECT DISTINCT m.member_id FROM scope_member m
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
			return nil, fmt.Errorf("read the members that are seen in %d projects: %w", len(scopes), err)
		}
		if len(found) >= MaxMembers {
			return nil, nil
		}
	}
	return append(make([]int64, 0, len(found)), slices.Sorted(maps.Keys(found))...), nil
}

// newMemberCache makes the cache of membersOf.
func newMemberCache(now func() time.Time) *cache[string, cachedMembers] {
	return newCache[string, cachedMembers](maxActors, maxAge, now)
}
