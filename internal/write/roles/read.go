package roles

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// grant is one role that a member has in a project.
type grant struct {
	scope, member, role int64
	owner               bool
}

// grants reads the current roles in projects if the parameter projects is true, and otherwise the
// current roles of members. ids are the ids of these projects or members, and the keys of the
// result. Each list is in the order of assignment.
func (s *Service) grants(ctx context.Context, tx *db.Tx, projects bool, ids []int64) (map[int64][]grant, error) {
	column := "member_id"
	if projects {
		column = "scope_id"
	}
	found := map[int64][]grant{}
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, tx, `SELECT scope_id, member_id, role_id, is_owner FROM scope_member WHERE `+
			column+` IN `+in+` AND until_moment = ? ORDER BY since_moment, member_id, scope_id`, append(args, db.Forever), func(row db.Scanner) error {
			var g grant
			var owner int
			if err := row.Scan(&g.scope, &g.member, &g.role, &owner); err != nil {
				return err
			}
			g.owner = owner == 1
			key := g.member
			if projects {
				key = g.scope
			}
			found[key] = append(found[key], g)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read roles: %w", err)
		}
	}
	return found, nil
}

// namedAsset is a project, member or role with the values that answers contain.
type namedAsset struct {
	asset
	email       string
	defaultRole int64
	hasDefault  bool
}

func (f *namedAsset) person(known map[int64]*namedAsset) *person {
	p := &person{asset: f.asset, Email: f.email}
	if role := known[f.defaultRole]; f.hasDefault && role != nil {
		p.DefaultRole = &role.asset
	}
	return p
}

// named reads the assets with the ids in ids, and the default roles of the members among them. It
// leaves out deleted assets and assets in deleted projects. The keys of the result are ids.
func (s *Service) named(ctx context.Context, tx *db.Tx, ids []int64) (map[int64]*namedAsset, error) {
	known := map[int64]*namedAsset{}
	roles, err := s.load(ctx, tx, ids, known)
	if err == nil {
		_, err = s.load(ctx, tx, roles, known)
	}
	return known, err
}

// load reads the assets with the ids in ids, adds them to known, and returns the ids of their
// default roles.
func (s *Service) load(ctx context.Context, tx *db.Tx, ids []int64, known map[int64]*namedAsset) ([]int64, error) {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	member, ok := s.model.Type("Member")
	if !ok {
		return nil, fmt.Errorf("the model has no type Member")
	}
	email, _ := member.Attr("Email")
	role, _ := member.Attr("DefaultRole")
	if email == nil || role == nil {
		return nil, fmt.Errorf("the model has no Member.Email or no Member.DefaultRole")
	}
	var roles []int64
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, tx, `SELECT a.id, a.type, a.name, `+tx.Dialect().JSONText("a.attrs", email.Place.Column)+`, l.to_id FROM asset a`+
			` LEFT JOIN asset_link l ON l.relation = ? AND l.from_type = a.type AND l.from_id = a.id AND l.until_moment = ?`+
			` WHERE a.state < ? AND NOT `+sqlgen.InHidden("a.scope_id")+` AND a.id IN `+in, append([]any{role.Place.Code, db.Forever, meta.StateDeleted}, args...), func(row db.Scanner) error {
			var id int64
			var code int
			var name, mail sql.NullString
			var to sql.NullInt64
			if err := row.Scan(&id, &code, &name, &mail, &to); err != nil {
				return err
			}
			t, ok := s.model.TypeByCode(code)
			if !ok {
				return fmt.Errorf("asset %d has the unknown type %d", id, code)
			}
			known[id] = &namedAsset{
				asset: asset{OID: fmt.Sprintf("%s:%d", t.Name, t.Shown(id)), Name: plain(name.String)},
				email: mail.String, defaultRole: to.Int64, hasDefault: to.Valid,
			}
			if to.Valid {
				roles = append(roles, to.Int64)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read names: %w", err)
		}
	}
	return roles, nil
}

// plain returns the name in a localization tag. For Role.Name'Observer it returns Observer.
func plain(name string) string { return strings.TrimPrefix(name, "Role.Name'") }
