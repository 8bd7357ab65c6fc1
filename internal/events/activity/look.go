package activity

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// asset is an asset with its current name.
type asset struct {
	t            *meta.Type
	id, state    int64 // stored id
	name, number string
	scope        int64 // id of its SecurityScope as stored; valid only if hasScope is true
	hasScope     bool
	seen         bool // true: the caller sees the asset now
}

// oid returns the Oid of the asset.
func (a *asset) oid() oid.OID { return oid.OID{Type: a.t.Name, ID: a.t.Shown(a.id)} }

// display returns the name that people see. The name of a role is a tag such as Role'Name; display
// returns the part after the quote. For an asset without a name, display returns the number or the
// Oid.
func (a *asset) display() string {
	switch {
	case a.name != "":
		if _, word, ok := strings.Cut(a.name, "'"); ok && a.t.NameAttr != "" {
			if attr, ok := a.t.Attr(a.t.NameAttr); ok && attr.Kind == meta.LocalizerTag {
				return word
			}
		}
		return a.name
	case a.number != "":
		return a.number
	}
	return a.oid().String()
}

// member contains the data of a member that an item shows about the author of a change.
type member struct {
	username, email string
	avatar          int64
	hasAvatar       bool
}

// person contains the attributes of Member that an item shows.
type person struct {
	username, email, avatar *meta.Attr
}

func personOf(m *meta.Model) person {
	var p person
	if t, ok := m.Type("Member"); ok {
		p.username, _ = t.Attr("Username")
		p.email, _ = t.Attr("Email")
		p.avatar, _ = t.Attr("Avatar")
	}
	return p
}

// look reads the assets and members to which entries refer, and finds out which of these assets the
// caller sees.
func (x *reader) look(ctx context.Context, all []entry) error {
	wanted := map[int64]bool{}
	for i := range all {
		e := &all[i]
		x.want(wanted, e.ID)
		for _, v := range []*change.Version{&e.step.Now, e.step.Before} {
			if v == nil || x.root.slots.scope < 0 {
				continue
			}
			if id, ok := v.Columns[x.root.slots.scope].(int64); ok {
				x.want(wanted, id)
			}
		}
		if a := e.audit; a != nil {
			x.want(wanted, a.actor)
		}
		for _, c := range e.changes {
			if c.Attr.Kind == meta.Relation {
				x.wantValue(wanted, c.Old)
				x.wantValue(wanted, c.New)
			}
		}
	}
	if err := x.lookAssets(ctx, wanted); err != nil {
		return err
	}
	return x.lookFurther(ctx)
}

func (x *reader) want(wanted map[int64]bool, id int64) {
	if _, known := x.assets[id]; !known {
		wanted[id] = true
	}
}

func (x *reader) wantValue(wanted map[int64]bool, v any) {
	if id, ok := v.(int64); ok {
		x.want(wanted, id)
	}
}

// lookFurther reads projects and avatars that look has not read yet: the current projects of
// assets, and the avatars of members.
func (x *reader) lookFurther(ctx context.Context) error {
	missing := map[int64]bool{}
	for _, a := range x.assets {
		if a != nil && a.hasScope {
			x.want(missing, a.scope)
		}
	}
	for _, m := range x.people {
		if m.hasAvatar {
			x.want(missing, m.avatar)
		}
	}
	return x.lookAssets(ctx, missing)
}

// named returns the statement that reads assets with their current names. For members it also reads
// the data that items show. args are the arguments before the list of ids.
func (x *reader) named() (query string, args []any) {
	query = "SELECT a.id, a.type, a.state, a.name, a.number, a.scope_id"
	p := x.person
	if p.username == nil || p.email == nil || p.avatar == nil {
		return query + ", NULL, NULL, NULL FROM asset a WHERE a.id IN ", nil
	}
	text := x.tx.Dialect().JSONText
	of := func(a *meta.Attr) string {
		return ", CASE WHEN a.type = " + strconv.Itoa(p.avatar.On.Code) + " THEN " + text("a.attrs", a.Place.Column) + " END"
	}
	return query + of(p.username) + of(p.email) + ", l.to_id FROM asset a LEFT JOIN asset_link l" +
		" ON l.relation = ? AND l.from_type = ? AND l.from_id = a.id AND l.until_moment = ? WHERE a.id IN ", []any{p.avatar.Place.Code, p.avatar.On.Code, db.Forever}
}

// lookAssets reads assets with their current names, and finds out whether the caller sees them.
func (x *reader) lookAssets(ctx context.Context, wanted map[int64]bool) error {
	if len(wanted) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(wanted))
	for id := range wanted {
		x.assets[id] = nil
		ids = append(ids, id)
	}
	var read []*asset
	query, first := x.named()
	for in, args := range db.InChunks(ids) {
		err := db.Each(ctx, x.tx, query+in, append(slices.Clone(first), args...), func(row db.Scanner) error {
			a := &asset{}
			var code int
			var name, number, username, email sql.NullString
			var scope, avatar sql.NullInt64
			if err := row.Scan(&a.id, &code, &a.state, &name, &number, &scope, &username, &email, &avatar); err != nil {
				return err
			}
			t, ok := x.model.TypeByCode(code)
			if !ok {
				return nil // the model of this process does not have the type yet
			}
			a.t, a.name, a.number, a.scope, a.hasScope = t, name.String, number.String, scope.Int64, scope.Valid
			x.assets[a.id] = a
			if x.person.avatar != nil && t == x.person.avatar.On {
				x.people[a.id] = &member{username.String, email.String, avatar.Int64, avatar.Valid}
			}
			read = append(read, a)
			return x.take(int64(len(a.name)) + 256)
		})
		if err != nil {
			return err
		}
	}
	return x.see(ctx, read)
}

// see finds out which assets the caller sees now. It asks the database only about assets for which
// the data in memory is not sufficient.
func (x *reader) see(ctx context.Context, list []*asset) error {
	var ids []int64
	var types []*meta.Type
	for _, a := range list {
		v := change.Version{ID: a.id, Type: a.t, State: a.state, Columns: make([]any, len(x.model.Columns))}
		if a.hasScope && x.root.slots.scope >= 0 {
			v.Columns[x.root.slots.scope] = a.scope
		}
		switch x.sees(&v) {
		case memfilter.True:
			a.seen = true
		case memfilter.Unknown:
			ids, types = append(ids, a.id), append(types, a.t)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	seen, err := x.finder.Seen(ctx, x.tx, x.who, unique(types), ids)
	for _, id := range ids {
		x.assets[id].seen = seen[id]
	}
	return err
}

// sees reports whether the caller sees a version. The result is Unknown if this can only be decided
// with SQL.
func (x *reader) sees(v *change.Version) memfilter.Truth {
	if x.who.All {
		return memfilter.True
	}
	f := x.sights[v.Type]
	if f == nil {
		return memfilter.Unknown
	}
	return f.Evaluate(memfilter.Input{Version: v, Actor: &x.who})
}

func unique(types []*meta.Type) []*meta.Type {
	var all []*meta.Type
	known := map[*meta.Type]bool{}
	for _, t := range types {
		if !known[t] {
			known[t] = true
			all = append(all, t)
		}
	}
	return all
}
