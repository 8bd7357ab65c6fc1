package roles

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// Finder runs the query for projects or members. It also finds out which assets an actor may see.
type Finder interface {
	IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error)
	Seen(ctx context.Context, q db.Querier, who auth.Actor, types []*meta.Type, ids []int64) (map[int64]bool, error)
}

// Service reads roles. It is safe for concurrent use.
type Service struct {
	db     *db.DB
	model  *meta.Model
	finder Finder
}

// New returns the service for a database and a finder.
func New(d *db.DB, m *meta.Model, f Finder) *Service { return &Service{db: d, model: m, finder: f} }

// The JSON of the answers of ByProject and ByMember.
type (
	answer struct {
		Assets []entry `json:"assets"`
	}
	entry struct {
		Project *asset        `json:"project,omitempty"`
		Member  *person       `json:"member,omitempty"`
		Members *[]assignment `json:"memberRoles,omitempty"`
		Roles   *[]assignment `json:"projectRoles,omitempty"`
	}
	assignment struct {
		IsOwner bool    `json:"isOwner"`
		Project *asset  `json:"project,omitempty"`
		Member  *person `json:"member,omitempty"`
		Role    asset   `json:"role"`
	}
	asset struct {
		OID  string `json:"oidToken"`
		Name string `json:"name"`
	}
	person struct {
		asset
		Email       string `json:"email"`
		DefaultRole *asset `json:"defaultRole"`
	}
)

// ByProject returns every visible project that matches a filter of the data interface, with its
// members and their roles. The members are in the order of assignment.
// Shape: {"assets":[{"project":{…},"memberRoles":[{"isOwner":true,"member":{…},"role":{…}}]}]}
// Errors: fault.Invalid for the filter.
func (s *Service) ByProject(ctx context.Context, who auth.Actor, where string) ([]byte, error) {
	return s.list(ctx, who, "Scope", where)
}

// ByMember returns every member that matches a filter of the data interface, with the visible
// projects in which the member has a role.
// Shape:
// {"assets":[{"member":{…},"projectRoles":[{"isOwner":true,"project":{…},"role":{…}}]}]}
// Errors: fault.Invalid for the filter.
func (s *Service) ByMember(ctx context.Context, who auth.Actor, where string) ([]byte, error) {
	return s.list(ctx, who, "Member", where)
}

func (s *Service) list(ctx context.Context, who auth.Actor, typ, where string) ([]byte, error) {
	t, ok := s.model.Type(typ)
	if !ok {
		return nil, fmt.Errorf("the model has no type %s", typ)
	}
	r, err := query.FromParams(query.Address{Type: typ}, url.Values{"where": {where}, "sel": {""}})
	if err != nil {
		return nil, err
	}
	var out answer
	err = s.db.Read(db.WithMember(ctx, who.Member), func(tx *db.Tx) error {
		found, err := s.finder.IDs(ctx, tx, who, r)
		if err != nil {
			return err
		}
		ids := make([]int64, len(found))
		for i, o := range found {
			ids[i] = t.Stored(o.ID)
		}
		out, err = s.entries(ctx, tx, who, typ == "Scope", ids)
		return err
	})
	if err != nil {
		return nil, err
	}
	return value.Marshal(out)
}

// entries returns the entries of projects if the parameter projects is true, and otherwise the
// entries of members. ids are the ids of these projects or members.
func (s *Service) entries(ctx context.Context, tx *db.Tx, who auth.Actor, projects bool, ids []int64) (answer, error) {
	grants, err := s.grants(ctx, tx, projects, ids)
	if err != nil {
		return answer{}, err
	}
	all := slices.Clone(ids)
	for _, list := range grants {
		for _, g := range list {
			all = append(all, g.scope, g.member, g.role)
		}
	}
	known, err := s.named(ctx, tx, all)
	if err != nil {
		return answer{}, err
	}
	seen, err := s.seenMembers(ctx, tx, who, grants)
	if err != nil {
		return answer{}, err
	}
	out := answer{Assets: make([]entry, 0, len(ids))}
	for _, id := range ids {
		list := make([]assignment, 0, len(grants[id]))
		for _, g := range grants[id] {
			scope, member := known[g.scope], known[g.member]
			switch {
			case scope == nil || member == nil || known[g.role] == nil:
			case projects && !seen[g.member]:
			case projects:
				list = append(list, assignment{IsOwner: g.owner, Member: member.person(known), Role: known[g.role].asset})
			case who.Reads(g.scope):
				list = append(list, assignment{IsOwner: g.owner, Project: &scope.asset, Role: known[g.role].asset})
			}
		}
		f := known[id]
		switch {
		case f == nil:
		case projects:
			out.Assets = append(out.Assets, entry{Project: &f.asset, Members: &list})
		default:
			out.Assets = append(out.Assets, entry{Member: f.person(known), Roles: &list})
		}
	}
	return out, nil
}

// seenMembers returns the ids of the members in grants whom the caller may see.
func (s *Service) seenMembers(ctx context.Context, tx *db.Tx, who auth.Actor, grants map[int64][]grant) (map[int64]bool, error) {
	t, ok := s.model.Type("Member")
	if !ok {
		return nil, fmt.Errorf("the model has no type Member")
	}
	members := map[int64]bool{}
	for _, list := range grants {
		for _, g := range list {
			members[g.member] = true
		}
	}
	return s.finder.Seen(ctx, tx, who, []*meta.Type{t}, slices.Sorted(maps.Keys(members)))
}
