package auth

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// Limits of Actor.Members. If an actor sees maxMembers or more members, or reads more than
// maxMemberScopes projects, each query reads the members from the database instead. maxMembers is
// a thousand, because MariaDB turns a list of a thousand values into a join.
const (
	maxMembers      = 1000
	maxMemberScopes = 4 * db.MaxIn
)

// cachedMembers has the members that all actors with the same readable projects see.
type cachedMembers struct {
	members []int64
	changes int64 // value of Service.roleChanges before the read
}

// membersOf returns the members that an actor sees. The data may be maxAge old, but it includes
// all role changes by this process. The result is nil if the actor sees all members or too many
// members, or if the read fails. Queries then read the members from the database.
func (s *Service) membersOf(ctx context.Context, a cachedActor) []int64 {
	if a.AllMembers() {
		return nil
	}
	c, ok := s.members.get(a.scopes)
	if !ok || c.changes != s.roleChanges.Load() {
		var err error
		c, err = s.memberReads.do(ctx, memberRead{a.scopes, s.roleChanges.Load()},
			func(ctx context.Context) (cachedMembers, error) { return s.readMembersNow(ctx, a) })
		if err != nil {
			return nil
		}
	}
	return withMember(c.members, a.Member)
}

// memberRead identifies a read that depends on projects. Concurrent requests share a read if they
// have the same projects, and if neither a role nor the project tree has changed between them.
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

// keyOfScopes returns a hash of a list of scopes.
func keyOfScopes(scopes []int64) string {
	h := sha256.New()
	_ = binary.Write(h, binary.LittleEndian, scopes) // writing to a hash never fails
	return string(h.Sum(nil))
}

// withMember returns a sorted list with member in it. It returns nil if the list is nil.
func withMember(list []int64, member int64) []int64 {
	if at, ok := slices.BinarySearch(list, member); list != nil && !ok {
		return slices.Insert(slices.Clone(list), at, member)
	}
	return list
}

// RolesChanged must be called after this process has committed a change of a member, of a role
// in a project, or of the project tree. administrators is true if a System Admin may have lost
// that role.
func (s *Service) RolesChanged(administrators bool) {
	s.roleChanges.Add(1)
	if administrators {
		s.adminChanges.Add(1)
	}
}

// readMembers returns the members that an actor sees if the actor reads the projects in scopes.
// These are the members that have a reading role in one of the projects, or in a project above. The
// parameter at is the moment of the roles. Package sqlgen has the same rule. The result is nil if
// there are too many projects or members.
func (s *Service) readMembers(ctx context.Context, scopes []int64, at int64) ([]int64, error) {
	if len(scopes) > maxMemberScopes {
		return nil, nil
	}
	noRead, roleArgs := db.InArgs(RolesWithoutRead(s.roles.role))
	found := map[int64]bool{}
	for in, args := range db.InChunks(scopes) {
		args = slices.Concat([]any{at, at}, roleArgs, []any{at, at}, args, []any{maxMembers})
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
			return nil, fmt.Errorf("read the visible members of %d projects: %w", len(scopes), err)
		}
		if len(found) >= maxMembers {
			return nil, nil
		}
	}
	return append(make([]int64, 0, len(found)), slices.Sorted(maps.Keys(found))...), nil
}
