package asset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/rank"
	"github.com/alds-dev/alds/internal/write/asset/scopes"
)

// Effect is one change that a request makes. It says nothing about moments, dates, Numbers, and values that
// are copied from other assets.
type Effect struct {
	// Asset is an Oid. For an asset that the request creates, it has the place of the asset among all that
	// the request creates, such as Story:+1. So the same commands have the same effects later.
	Asset string
	Kind  EffectKind
	Type  *meta.Type
	Attr  *meta.Attr // for Changes and Moves

	// For an attribute with one value: the values before and after, as they are stored. A relation has Oids.
	Old, New any
	// For an attribute with several values, and for Roles: the values as texts.
	Added, Removed []string

	// Hidden is true if the caller may not see the asset, or a value. No answer shows such an effect. If only a
	// value of a relation to one asset is hidden, there is another effect that has null in its place.
	Hidden bool
}

// EffectKind says what an Effect is about.
type EffectKind int

// Kinds of effects. Creates: the asset is new; its values are further effects. Changes: an attribute has
// another value. Moves: the asset has another rank; New is the Oid of the asset that comes next, or nil. Roles: the
// members in Added get roles, as in "Member:20 Role:4", and those in Removed have no role any more. Login: the
// username or the password in Attr is set.
const (
	Creates EffectKind = iota
	Changes
	Moves
	Roles
	Login
)

// recorded is a change that a batch has written, as RecordEffect keeps it.
type recorded struct {
	id       int64
	typ      *meta.Type
	kind     EffectKind
	attr     *meta.Attr
	other    int64  // stored id of a linked asset, of a member with a role, or of the role
	text     string // the value of a multi-value scalar
	old, now any    // values as they are stored; for an attribute with several values, whether it has the value
}

// maxEffects is the largest number of changes that an effect has.
const maxEffects = 200_000

// RecordEffect makes the session record what its commands change.
func (s *Session) RecordEffect() { s.records = true }

// Written returns the id of the audit row of the request, and the first and last moment of the changes up to
// now; 0: there are none.
func (s *Session) Written() (write, first, last int64) { return s.audit, s.first, s.last }

// record records the changes of a batch that is written.
func (c *changes) record() {
	if len(c.s.recorded) > maxEffects { // Effects refuses the effect
		return
	}
	add := func(r recorded) { c.s.recorded = append(c.s.recorded, r) }
	for _, w := range c.made {
		add(recorded{id: w.id, typ: w.typ, kind: Creates})
		c.recordRow(w, c.s.e.layout.newState())
	}
	for _, w := range c.changed {
		c.recordRow(w, w.stored)
	}
	for _, ch := range c.edges {
		if ch.edge == nil {
			continue
		}
		t, _ := c.s.e.model.TypeByCode(ch.edge.fromType)
		if t == nil {
			if w := c.loaded.rows[ch.edge.from]; w != nil {
				t = w.typ
			}
		}
		if a := c.s.e.layout.edgeAttr(t, ch.edge); a != nil {
			add(recorded{id: ch.edge.from, typ: t, kind: Changes, attr: a, other: ch.edge.to, text: ch.edge.text, old: ch.set == nil, now: ch.set != nil})
		}
	}
	scope, _ := c.s.e.model.Type("Scope")
	for i := range c.roles {
		r := recorded{id: c.roles[i].scope, typ: scope, kind: Roles, other: c.roles[i].member}
		if !c.roles[i].end {
			r.now = c.roles[i].role
		}
		add(r)
	}
	for _, l := range c.logins {
		for name, set := range map[string]bool{"Username": l.username != nil, "Password": l.password != nil} {
			if a, ok := c.s.e.layout.member.Attr(name); ok && set {
				r := recorded{id: l.member, typ: c.s.e.layout.member, kind: Login, attr: a}
				if name == "Username" {
					r.now = *l.username
				}
				add(r)
			}
		}
	}
}

// recordRow records what a batch has changed in the row of an asset.
func (c *changes) recordRow(w *row, was *state) {
	tr := c.s.e.layout.types[w.typ]
	for _, a := range tr.restored {
		old, now := was.Get(a), w.cur.Get(a)
		switch {
		case old == now:
		case a.ReadOnly && a.Place.Kind == meta.InColumn && a.Place.Slot == c.s.e.layout.scope: // SecurityScope follows Scope
		case w.isNew && a.Default == "@now":
		case a.Kind != meta.Rank:
			c.s.recorded = append(c.s.recorded, recorded{id: w.id, typ: w.typ, kind: Changes, attr: a, old: old, now: now})
		case !w.isNew:
			c.s.recorded = append(c.s.recorded, recorded{id: w.id, typ: w.typ, kind: Moves, attr: a, old: old, now: now})
		}
	}
	if state, ok := w.typ.Attr("AssetState"); ok && was.code != w.cur.code && !w.isNew {
		c.s.recorded = append(c.s.recorded, recorded{id: w.id, typ: w.typ, kind: Changes, attr: state, old: int64(was.code), now: int64(w.cur.code)})
	}
}

// edgeAttr returns the attribute of a type that an edge stores, or nil.
func (l *layout) edgeAttr(t *meta.Type, e *edge) *meta.Attr {
	if t == nil {
		return nil
	}
	if e.code < 0 {
		return l.types[t].several[-e.code]
	}
	return l.types[t].forward[e.code]
}

// Effects returns what the commands have changed since RecordEffect, ordered by asset and attribute.
// Errors: fault.Invalid if that is too much.
func (s *Session) Effects(ctx context.Context) ([]Effect, error) {
	if len(s.recorded) > maxEffects {
		return nil, fault.Invalidf(fault.NoPlace, "The request has more than %d changes, which is too many for a plan.", maxEffects)
	}
	net := s.netEffect()
	names, err := s.namesOf(ctx, net)
	if err != nil {
		return nil, err
	}
	all := make([]Effect, 0, len(net))
	for i := range net {
		r := &net[i]
		e := Effect{Asset: names.token(r.id), Kind: r.kind, Type: r.typ, Attr: r.attr, Hidden: names.hides(r.id)}
		several := r.kind == Changes && r.attr.Multi
		switch {
		case r.kind == Moves:
			if err := s.nextInRank(ctx, names, r, &e); err != nil {
				return nil, err
			}
		case r.kind == Roles:
			e.Hidden = e.Hidden || names.hides(r.other)
			e.Removed = []string{names.token(r.other)}
			if r.now != nil {
				e.Added, e.Removed = []string{names.token(r.other) + " " + names.token(r.now.(int64))}, nil
			}
		case several || r.kind == Changes && r.attr.Place.Kind == meta.InLinks:
			text := r.text
			if r.attr.Kind == meta.Relation {
				text, e.Hidden = names.token(r.other), e.Hidden || names.hides(r.other)
			}
			e.addValue(text, r.now == true)
			if n := len(all); n > 0 && several && all[n-1].Asset == e.Asset && all[n-1].Attr == r.attr && all[n-1].Hidden == e.Hidden {
				all[n-1].addValue(text, r.now == true)
				continue
			}
			if n := len(all); n > 0 && !several && all[n-1].Asset == e.Asset && all[n-1].Attr == r.attr {
				all[n-1].join(e)
				continue
			}
			if !several {
				e.single()
			}
		case r.kind == Changes && r.attr.Kind == meta.Relation:
			e.Old, e.New = names.value(r.old), names.value(r.now)
			if old, now := names.hidesValue(r.old), names.hidesValue(r.now); !e.Hidden && (old || now) {
				real := e
				real.Hidden = true
				all = append(all, real)
				if e.hideValues(old, now); e.Old == e.New {
					continue
				}
			}
		default:
			e.Old, e.New = r.old, r.now
		}
		all = append(all, e)
	}
	return all, nil
}

// addValue adds a value of an attribute with several values.
func (e *Effect) addValue(text string, has bool) {
	if has {
		e.Added = append(e.Added, text)
	} else {
		e.Removed = append(e.Removed, text)
	}
}

// hideValues leaves out values that the caller may not see, as a query does.
func (e *Effect) hideValues(old, now bool) {
	if old {
		e.Old = nil
	}
	if now {
		e.New = nil
	}
}

// single turns the values of a relation to one asset into Old and New.
func (e *Effect) single() {
	if len(e.Removed) > 0 {
		e.Old = e.Removed[0]
	}
	if len(e.Added) > 0 {
		e.New = e.Added[0]
	}
	e.Added, e.Removed = nil, nil
}

// join adds the other value of a relation to one asset.
func (e *Effect) join(o Effect) {
	o.single()
	e.Old, e.New = cmp.Or[any](e.Old, o.Old), cmp.Or[any](e.New, o.New)
	e.Hidden = e.Hidden || o.Hidden
}

// netEffect returns the recorded changes, ordered, without those that were taken back in the request.
func (s *Session) netEffect() []recorded {
	order := func(a, b recorded) int {
		name := func(r recorded) string {
			if r.attr == nil {
				return ""
			}
			return r.attr.Name
		}
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind),
			cmp.Compare(name(a), name(b)), cmp.Compare(a.other, b.other), cmp.Compare(a.text, b.text))
	}
	slices.SortStableFunc(s.recorded, order)
	net := s.recorded[:0:0]
	for _, r := range s.recorded {
		if n := len(net); n > 0 && order(net[n-1], r) == 0 {
			net[n-1].now = r.now
			continue
		}
		net = append(net, r)
	}
	return slices.DeleteFunc(net, func(r recorded) bool { return r.kind == Changes && r.old == r.now })
}

// nextInRank sets the asset that comes next after an asset that the request has moved.
func (s *Session) nextInRank(ctx context.Context, names *effectNames, r *recorded, e *Effect) error {
	column := s.e.layout.Slots[r.attr.Place.Slot].Name
	in, types := db.InArgs(s.e.layout.ranked[rank.Sequence(r.typ)])
	query := `SELECT id FROM asset WHERE type IN ` + in + ` AND ` + column + ` > ? ORDER BY ` + column + ` LIMIT 1`
	next, err := db.Column[int64](ctx, s.tx, query, append(types, r.now)...)
	if err != nil {
		return fmt.Errorf("read the next rank: %w", err)
	}
	if len(next) == 0 {
		return nil
	}
	if err := names.read(ctx, s, next); err != nil {
		return err
	}
	e.New, e.Hidden = names.token(next[0]), e.Hidden || names.hides(next[0])
	return nil
}

// effectNames has the Oids of assets, by stored id.
type effectNames struct {
	made  map[int64]string // new assets
	known map[int64]oid.OID
	seen  map[int64]bool
}

// namesOf reads the Oids of the assets in changes, and whether the caller sees them.
func (s *Session) namesOf(ctx context.Context, net []recorded) (*effectNames, error) {
	n := &effectNames{made: map[int64]string{}, known: map[int64]oid.OID{}, seen: map[int64]bool{}}
	var ids []int64
	for i := range net {
		r := &net[i]
		ids = append(ids, r.id)
		if r.kind == Creates {
			n.made[r.id] = r.typ.Name + ":+" + strconv.Itoa(len(n.made)+1)
		}
		isRelation := r.attr != nil && r.attr.Kind == meta.Relation
		for _, v := range [...]any{r.old, r.now} {
			if id, ok := v.(int64); ok && (isRelation || r.kind == Roles) {
				ids = append(ids, id)
			}
		}
		if r.kind == Roles || isRelation && r.other != 0 {
			ids = append(ids, r.other)
		}
	}
	return n, n.read(ctx, s, ids)
}

// read reads assets by their stored ids.
func (n *effectNames) read(ctx context.Context, s *Session, ids []int64) error {
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id int64) bool { _, has := n.known[id]; return has })
	who := s.Who()
	ruled := ruledAssets{}
	for in, args := range db.InChunks(ids) {
		query := `SELECT id, type, scope_id, ` + scopes.IsHidden(who) + ` FROM asset WHERE id IN ` + in
		err := db.Each(ctx, s.tx, query, args, func(scan db.Scanner) error { return n.scan(scan, s, who, &ruled) })
		if err != nil {
			return fmt.Errorf("read the assets of an effect: %w", err)
		}
	}
	seen, err := s.e.finder.Seen(ctx, s.tx, who, ruled.types, ruled.ids)
	for _, id := range ruled.ids {
		n.seen[id] = seen[id]
	}
	return err
}

func (n *effectNames) scan(scan db.Scanner, s *Session, who auth.Actor, ruled *ruledAssets) error {
	var id int64
	var code int
	var scope *int64
	var hidden bool
	if err := scan.Scan(&id, &code, &scope, &hidden); err != nil {
		return err
	}
	t, ok := s.e.model.TypeByCode(code)
	if !ok {
		return nil
	}
	n.known[id] = oid.OID{Type: t.Name, ID: t.Shown(id)}
	n.seen[id] = sees(who, scope) && (!hidden || t.Secured.Self)
	if !t.Seen.IsZero() {
		ruled.add(id, t)
	}
	return nil
}

func (n *effectNames) token(id int64) string {
	if name, ok := n.made[id]; ok {
		return name
	}
	return n.known[id].String()
}

func (n *effectNames) hides(id int64) bool { return n.made[id] == "" && !n.seen[id] }

func (n *effectNames) value(v any) any {
	if id, ok := v.(int64); ok {
		return n.token(id)
	}
	return nil
}

func (n *effectNames) hidesValue(v any) bool {
	id, ok := v.(int64)
	return ok && n.hides(id)
}
