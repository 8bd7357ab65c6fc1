package asset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
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

	// What the caller may not see: the whole effect, the value before, the value after, and values of Added and
	// Removed. Shown leaves them out.
	Hidden               bool
	HiddenOld, HiddenNew bool
	HiddenValues         []string

	// ByCaller is the Oid of the caller if a new asset names the caller because the model says so: as its author or
	// owner, or as the first member of a new project. It is empty otherwise. See Impersonal.
	ByCaller string
}

// Caller stands for the caller in an effect that is the same for every caller.
const Caller = "@caller"

// Impersonal returns the effect with Caller in the place of the Oid of the caller, as far as ByCaller says so.
func (e *Effect) Impersonal() Effect {
	if e.ByCaller == "" {
		return *e
	}
	other := *e
	if other.New == any(e.ByCaller) {
		other.New = Caller
	}
	other.Added = slices.Clone(e.Added)
	for i, text := range other.Added {
		if rest, ok := strings.CutPrefix(text, e.ByCaller); ok && (rest == "" || rest[0] == ' ') {
			other.Added[i] = Caller + rest
		}
	}
	return other
}

// Shown returns the effect as the caller may see it. whole is true if that is the effect itself, and some is
// false if nothing of it may be shown.
func (e *Effect) Shown() (shown Effect, whole, some bool) {
	shown = *e
	switch {
	case e.Hidden:
		return shown, false, false
	case e.HiddenOld || e.HiddenNew:
		if e.HiddenOld {
			shown.Old = nil
		}
		if e.HiddenNew {
			shown.New = nil
		}
		return shown, false, e.Kind == Moves || shown.Old != shown.New
	case len(e.HiddenValues) > 0:
		hidden := func(v string) bool { return slices.Contains(e.HiddenValues, v) }
		shown.Added = slices.DeleteFunc(slices.Clone(e.Added), hidden)
		shown.Removed = slices.DeleteFunc(slices.Clone(e.Removed), hidden)
		return shown, false, len(shown.Added)+len(shown.Removed) > 0
	}
	return shown, true, true
}

// EffectKind says what an Effect is about.
type EffectKind int

// Kinds of effects. Creates: the asset is new; its values are further effects. Changes: an attribute has
// another value. Moves: the asset has another rank; New is the Oid of the asset that comes next, or nil. Roles: the
// roles of members before (Removed) and after (Added), such as "Member:20 Role:4", or "Member:20 Role:4 owner".
const (
	Creates EffectKind = iota
	Changes
	Moves
	Roles
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
	owner    bool   // for a role: the member is an owner of the project
}

// Limits of an effect: the number of its changes, and the bytes of their texts before and after.
const (
	maxEffects    = 200_000
	maxEffectSize = 64 << 20
)

// RecordEffect makes the session record what its commands change.
func (s *Session) RecordEffect() { s.recording = true }

// Written returns the id of the audit row of the request, and the first and last moment of the changes up to
// now; 0: there are none.
func (s *Session) Written() (write, first, last int64) { return s.audit, s.first, s.last }

// record records the changes of a batch that is written.
func (c *changes) record() {
	if c.s.effectBounds() != nil { // the next command or Effects returns the error
		return
	}
	add := c.s.keep
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
			r.now, r.owner = c.roles[i].role, c.roles[i].owner
		}
		add(r)
	}
}

// keep adds a change to the recorded ones.
func (s *Session) keep(r recorded) {
	s.recorded = append(s.recorded, r)
	for _, v := range [...]any{r.old, r.now} {
		if text, ok := v.(string); ok {
			s.recordedSize += len(text)
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
			c.s.keep(recorded{id: w.id, typ: w.typ, kind: Changes, attr: a, old: old, now: now})
		case w.isNew && w.placed || !w.isNew && !w.shifted:
			c.s.keep(recorded{id: w.id, typ: w.typ, kind: Moves, attr: a, old: old, now: now})
		}
	}
	wasCode := was.code
	if w.isNew {
		wasCode = meta.StateActive
	}
	if state, ok := w.typ.Attr("AssetState"); ok && wasCode != w.cur.code {
		c.s.keep(recorded{id: w.id, typ: w.typ, kind: Changes, attr: state, old: int64(wasCode), now: int64(w.cur.code)})
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

// effectBounds returns an error if the changes that are recorded so far are too many for a plan, or have too
// much text. A session that records nothing has none.
// Errors: fault.Invalid with ErrReach, which ends the request.
func (s *Session) effectBounds() error {
	switch {
	case s.recordedSize > maxEffectSize:
		return reachesTooFar("The request changes more than %d bytes of texts, which is too much for a plan.", maxEffectSize)
	case len(s.recorded) > s.e.MaxEffects:
		return reachesTooFar("The request has more than %d changes, which is too many for a plan.", s.e.MaxEffects)
	}
	return nil
}

// Effects returns what the commands have changed since RecordEffect, ordered by asset and attribute.
// Errors: fault.Invalid if that is too much.
func (s *Session) Effects(ctx context.Context) ([]Effect, error) {
	if err := s.effectBounds(); err != nil {
		return nil, err
	}
	net := s.netEffect()
	names, err := s.namesOf(ctx, net)
	if err != nil {
		return nil, err
	}
	w := &effectWriter{names: names, all: make([]Effect, 0, len(net))}
	for i := range net {
		r := &net[i]
		switch r.kind {
		case Moves:
			err = s.move(ctx, w, r)
		case Roles:
			err = s.roleEffect(ctx, w, r)
		default:
			w.add(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return w.finished(), nil
}

// effectWriter makes effects from recorded changes.
type effectWriter struct {
	names *effectNames
	all   []Effect
}

// effectOf returns the effect for a change, without values.
func (w *effectWriter) effectOf(r *recorded) Effect {
	e := Effect{Asset: w.names.token(r.id), Kind: r.kind, Type: r.typ, Attr: r.attr, Hidden: w.names.hides(r.id)}
	isOfScope := r.typ.Secured.Self && (r.kind == Roles || r.attr != nil && r.attr.Name == "Members")
	isByModel := r.attr != nil && (r.attr.Default == "@caller" || r.attr.ReadOnly && r.attr.Kind == meta.Relation)
	if w.names.made[r.id] != "" && (isOfScope || isByModel) {
		e.ByCaller = w.names.caller
	}
	return e
}

// add adds the creation of an asset, or a change of an attribute.
func (w *effectWriter) add(r *recorded) {
	e := w.effectOf(r)
	switch {
	case r.kind == Creates:
	case r.attr.Multi:
		w.addTo(e, r)
		return
	case r.attr.Place.Kind == meta.InLinks:
		old, now := any(r.other), any(nil)
		if r.now == true {
			old, now = nil, r.other
		}
		if n := len(w.all); n > 0 && w.all[n-1].Asset == e.Asset && w.all[n-1].Attr == e.Attr {
			e = w.all[n-1]
			w.all = w.all[:n-1]
		}
		w.setRefs(&e, old, now)
	case r.attr.Kind == meta.Relation:
		w.setRefs(&e, r.old, r.now)
	default:
		e.Old, e.New = r.old, r.now
	}
	w.all = append(w.all, e)
}

// setRefs sets the values of a relation to one asset, as far as they are given.
func (w *effectWriter) setRefs(e *Effect, old, now any) {
	if old != nil {
		e.Old, e.HiddenOld = w.names.value(old), w.names.hidesValue(old)
	}
	if now != nil {
		e.New, e.HiddenNew = w.names.value(now), w.names.hidesValue(now)
	}
}

// addTo adds a value to the effect of an attribute with several values.
func (w *effectWriter) addTo(e Effect, r *recorded) {
	text, hidden := r.text, false
	if r.attr.Kind == meta.Relation {
		text, hidden = w.names.token(r.other), w.names.hides(r.other)
	}
	if n := len(w.all); n > 0 && w.all[n-1].Asset == e.Asset && w.all[n-1].Attr == e.Attr {
		e = w.all[n-1]
		w.all = w.all[:n-1]
	}
	e.addValue(text, r.now == true)
	if hidden {
		e.HiddenValues = append(e.HiddenValues, text)
	}
	w.all = append(w.all, e)
}

// finished returns the effects, with their values in order.
func (w *effectWriter) finished() []Effect {
	for i := range w.all {
		slices.Sort(w.all[i].Added)
		slices.Sort(w.all[i].Removed)
	}
	return w.all
}

// roleEffect adds a change of the role of a member in a project.
func (s *Session) roleEffect(ctx context.Context, w *effectWriter, r *recorded) error {
	e := w.effectOf(r)
	e.Hidden = e.Hidden || w.names.hides(r.other)
	var old int64
	var owner bool
	query := `SELECT role_id, is_owner FROM scope_member WHERE scope_id = ? AND member_id = ? AND since_moment < ? AND until_moment >= ?`
	err := s.tx.QueryRow(ctx, query, r.id, r.other, s.first, s.first).Scan(&old, &owner)
	had := err == nil
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return fmt.Errorf("read the former role: %w", err)
	}
	if had == (r.now != nil) && (!had || any(old) == r.now && owner == r.owner) {
		return nil
	}
	text := func(role int64, owner bool) []string {
		text := w.names.token(r.other) + " " + w.names.token(role)
		if owner {
			text += " owner"
		}
		return []string{text}
	}
	if had {
		if err := w.names.read(ctx, s, []int64{old}); err != nil {
			return err
		}
		e.Removed = text(old, owner)
	}
	if r.now != nil {
		e.Added = text(r.now.(int64), r.owner)
	}
	w.all = append(w.all, e)
	return nil
}

// addValue adds a value of an attribute with several values.
func (e *Effect) addValue(text string, has bool) {
	if has {
		e.Added = append(e.Added, text)
	} else {
		e.Removed = append(e.Removed, text)
	}
}

// netEffect returns the recorded changes, ordered, without those that were taken back in the request.
func (s *Session) netEffect() []recorded {
	made := map[int64]bool{}
	for i := range s.recorded {
		if s.recorded[i].kind == Creates {
			made[s.recorded[i].id] = true
		}
	}
	// New assets come last, because other processes have other ids for them.
	last := func(id int64) int {
		if made[id] {
			return 1
		}
		return 0
	}
	order := func(a, b recorded) int {
		name := func(r recorded) string {
			if r.attr == nil {
				return ""
			}
			return r.attr.Name
		}
		return cmp.Or(cmp.Compare(last(a.id), last(b.id)), cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind),
			cmp.Compare(name(a), name(b)), cmp.Compare(a.other, b.other), cmp.Compare(a.text, b.text))
	}
	slices.SortStableFunc(s.recorded, order)
	net := s.recorded[:0:0]
	for _, r := range s.recorded {
		if n := len(net); n > 0 && order(net[n-1], r) == 0 {
			net[n-1].now, net[n-1].owner = r.now, r.owner
			continue
		}
		net = append(net, r)
	}
	return slices.DeleteFunc(net, func(r recorded) bool { return r.kind == Changes && r.old == r.now })
}

// move adds a change of a rank. Its new value is the asset that comes next.
func (s *Session) move(ctx context.Context, w *effectWriter, r *recorded) error {
	if r.old == r.now {
		return nil
	}
	e := w.effectOf(r)
	column := s.e.layout.Slots[r.attr.Place.Slot].Name
	in, types := db.InArgs(s.e.layout.ranked[rank.Sequence(r.typ)])
	query := `SELECT id FROM asset WHERE type IN ` + in + ` AND ` + column + ` > ? ORDER BY ` + column + ` LIMIT 1`
	next, err := db.Column[int64](ctx, s.tx, query, append(types, r.now)...)
	if err != nil {
		return fmt.Errorf("read the next rank: %w", err)
	}
	if len(next) > 0 {
		if err := w.names.read(ctx, s, next); err != nil {
			return err
		}
		w.setRefs(&e, nil, next[0])
	}
	w.all = append(w.all, e)
	return nil
}

// effectNames has the Oids of assets, by stored id.
type effectNames struct {
	made  map[int64]string // new assets
	known map[int64]oid.OID
	seen  map[int64]bool

	caller string // Oid of the caller
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
	err := n.read(ctx, s, append(ids, s.who.Member))
	n.caller = n.known[s.who.Member].String()
	return n, err
}

// read reads assets by their stored ids.
func (n *effectNames) read(ctx context.Context, s *Session, ids []int64) error {
	ids = slices.Clone(ids)
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
	// What lies in a project that the request deletes was visible before.
	n.seen[id] = who.Bounds.Reads(t) && sees(who, scope) && (!hidden || t.Secured.Self || s.scopesHidden)
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

// AppendValue appends a value of an Effect or a Reverted to JSON. An Oid is a string; nil is null.
func AppendValue(b []byte, a *meta.Attr, v any) []byte {
	if token, ok := v.(string); ok && (a.Kind == meta.Relation || a.Kind == meta.Rank) {
		return value.AppendString(b, token)
	}
	s, ok := value.Of(v)
	if !ok || v == nil {
		return append(b, "null"...)
	}
	return value.AppendRow(b, s, a.Kind, a)
}
