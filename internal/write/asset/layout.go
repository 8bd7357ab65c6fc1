package asset

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset/rank"
	"github.com/alds-dev/alds/internal/write/asset/stored"
)

// layout is the model in the form that the write engine uses: the columns, and the rules of
// each type. It never changes.
type layout struct {
	*stored.Columns
	scope          int   // slot of scope_id; -1 if the model does not have it
	copiedSlots    []int // slots that at least one type copies from another asset
	types          map[*meta.Type]*typeRules
	dependentRules []dependentRule
	ranked         map[string][]int64 // key: sequence of ranks; value: codes of the types that share it
	ranks          map[string]bool    // key: name of an attribute of kind Rank
	decideSeen     map[string]bool    // key: name of an attribute that affects who sees an asset
	parts          []partRule
	mustBeEmpty    map[relationOf]bool // key: list of an asset; must be empty when an operation deletes that asset

	members       *meta.Attr // Scope.Members; like the fields below, nil if the model does not have it
	defaultRole   *meta.Attr // Member.DefaultRole
	loginDisabled *meta.Attr // Member.IsLoginDisabled
	role          *meta.Type
	member        *meta.Type

	membersRights *meta.RightsKind // who may change the members of projects
}

// typeRules are the rules for the assets of one concrete type.
type typeRules struct {
	code      any // an int64, boxed once because every written row contains it
	required  []*meta.Attr
	defaults  []*meta.Attr // attributes with a default value
	order     int          // slot of the rank; -1: none
	number    int          // slot of the Number; -1: none
	sources   []source
	states    map[int64]int // key: stored id of the value of stateAttr; value: AssetState
	stateAttr *meta.Attr    // the attribute that determines AssetState; nil: none
	begin     *meta.Attr    // begin may not be after end; nil: no rule
	end       *meta.Attr
	username  *meta.Attr // attribute with the username; nil: the type has no logins

	// For Undo: the attributes with one value in the row of an asset, without copied values and
	// the Number; and the attributes in asset_link and asset_value, by their codes.
	restored               []*meta.Attr
	forward, back, several map[int]*meta.Attr
}

// source is a rule: assets copy the values of these slots from the target of the relation.
type source struct {
	relation *meta.Attr
	slots    []int
}

// dependentRule is a rule by which the assets of one type copy values.
type dependentRule struct {
	dependent *meta.Type
	source
}

// partRule is the rule by which the assets of one type are parts of other assets
// (meta.Type.PartOf).
type partRule struct {
	part     *meta.Type
	relation *meta.Attr // relation from the part to its owner
	ops      []string   // operations on the owner that also run on the part
}

// relationOf is a relation of a type, by its name.
type relationOf struct {
	typ  *meta.Type
	name string
}

// newLayout makes the layout of a model for a database. If generation is 0, m may not be the
// current model. The layout then has all columns, so that a change keeps the values in columns
// that no attribute of m uses.
func newLayout(m *meta.Model, generation int64, d *db.Dialect) *layout {
	columns := m.Columns
	if generation == 0 {
		columns = m.AllColumns()
	}
	l := &layout{
		Columns: stored.NewColumns(columns, d), types: map[*meta.Type]*typeRules{},
		ranked: map[string][]int64{}, ranks: map[string]bool{}, decideSeen: map[string]bool{},
		mustBeEmpty: map[relationOf]bool{},
	}
	l.scope = slices.IndexFunc(columns, func(c meta.Column) bool { return c.Name == "scope_id" })
	l.members, l.defaultRole = attrOf(m, "Scope", "Members"), attrOf(m, "Member", "DefaultRole")
	l.loginDisabled = attrOf(m, "Member", "IsLoginDisabled")
	l.role, _ = m.Type("Role")
	l.member, _ = m.Type("Member")
	if l.members != nil {
		l.membersRights = l.members.On.KindOf(l.members.Name)
	}

	for _, t := range m.Types {
		if !t.Abstract {
			l.types[t] = l.rulesOf(m, t)
		}
	}
	for _, t := range m.Types {
		l.noteSeen(&t.Seen)
		l.noteEmpty(t)
		if tr := l.types[t]; tr != nil {
			l.index(t, tr)
			if tr.order >= 0 {
				l.ranked[rank.Sequence(t)] = append(l.ranked[rank.Sequence(t)], int64(t.Code))
			}
			if a, ok := t.Attr(t.PartOf.Relation); ok {
				l.parts = append(l.parts, partRule{t, a, t.PartOf.Ops})
			}
		}
	}
	return l
}

// noteEmpty adds to mustBeEmpty the lists that the condition of an operation requires to be
// empty. An example is "-MorphedInto.Subs": the epic that the story has become has no subs.
func (l *layout) noteEmpty(t *meta.Type) {
	for _, op := range t.Ops {
		for _, term := range strings.FieldsFunc(op.Effect.When, func(r rune) bool { return strings.ContainsRune("|;()", r) }) {
			path, isEmpty := strings.CutPrefix(term, "-")
			relation, list, hasList := strings.Cut(path, ".")
			if a, ok := t.Attr(relation); ok && isEmpty && hasList {
				l.mustBeEmpty[relationOf{a.Related, list}] = true
			}
		}
	}
}

// noteSeen adds to decideSeen the relations that a rule follows, and their reverse relations.
func (l *layout) noteSeen(rule *meta.Seen) {
	for _, walk := range slices.Concat(rule.Only, rule.By, rule.Through) {
		for _, a := range walk {
			l.decideSeen[a.Name] = true
			if a.Back != nil {
				l.decideSeen[a.Back.Name] = true
			}
			if a.Name == "PersonalTo" {
				l.decideSeen["Personal"] = true // Personal determines PersonalTo
			}
		}
	}
}

// attrOf returns an attribute of a type; nil if the model does not have it.
func attrOf(m *meta.Model, typ, name string) *meta.Attr {
	if t, ok := m.Type(typ); ok {
		if a, ok := t.Attr(name); ok {
			return a
		}
	}
	return nil
}

// isMembers reports whether code is the code of the relation Scope.Members.
func (l *layout) isMembers(code int) bool { return l.members != nil && l.members.Place.Code == code }

// roleID returns the stored id of a role. shown is the id in its Oid.
func (l *layout) roleID(shown int64) int64 {
	if l.role == nil {
		return shown
	}
	return l.role.Stored(shown)
}

// index adds the sources of a type to dependentRules, and their slots to copiedSlots.
func (l *layout) index(t *meta.Type, tr *typeRules) {
	for _, s := range tr.sources {
		l.dependentRules = append(l.dependentRules, dependentRule{t, s})
		for _, slot := range s.slots {
			if !slices.Contains(l.copiedSlots, slot) {
				l.copiedSlots = append(l.copiedSlots, slot)
			}
		}
	}
}

func (l *layout) rulesOf(m *meta.Model, t *meta.Type) *typeRules {
	tr := &typeRules{code: int64(t.Code), order: -1, number: -1}
	for _, a := range t.Attrs {
		has := isStored(a)
		if a.Required && has {
			tr.required = append(tr.required, a)
		}
		if a.Default != "" && has {
			tr.defaults = append(tr.defaults, a)
		}
		if a.Kind == meta.Rank && a.Place.Kind == meta.InColumn {
			tr.order = a.Place.Slot
			l.ranks[a.Name] = true
		}
		if a.Place.Kind == meta.Secret {
			tr.username, _ = t.Attr("Username")
		}
	}
	if a, ok := t.Attr("Number"); ok && t.NumberPrefix != "" && a.Place.Kind == meta.InColumn {
		tr.number = a.Place.Slot
	}
	tr.begin, tr.end = columnAttr(t, t.Period.Begin), columnAttr(t, t.Period.End)
	tr.sources = l.sourcesOf(t)
	l.stateRules(m, t, tr)
	tr.restore(t)
	return tr
}

// restore sets the attributes for Undo.
func (tr *typeRules) restore(t *meta.Type) {
	tr.forward, tr.back, tr.several = map[int]*meta.Attr{}, map[int]*meta.Attr{}, map[int]*meta.Attr{}
	isCopied := func(slot int) bool {
		return slot == tr.number || slices.ContainsFunc(tr.sources, func(s source) bool { return slices.Contains(s.slots, slot) })
	}
	for _, a := range t.Attrs {
		switch at := a.Place; at.Kind {
		case meta.InColumn:
			if at.Slot >= 0 && !isCopied(at.Slot) {
				tr.restored = append(tr.restored, a)
			}
		case meta.InAttrs:
			tr.restored = append(tr.restored, a)
		case meta.InLinks:
			tr.forward[at.Code] = a
		case meta.InLinksBack:
			tr.back[at.Code] = a
		case meta.InValues:
			tr.several[at.Code] = a
		}
	}
}

// columnAttr returns an attribute that is stored in a column; nil if there is none.
func columnAttr(t *meta.Type, name string) *meta.Attr {
	if a, ok := t.Attr(name); ok && a.Place.Kind == meta.InColumn {
		return a
	}
	return nil
}

func isStored(a *meta.Attr) bool {
	switch a.Place.Kind {
	case meta.InColumn, meta.InAttrs, meta.InLinks, meta.InValues:
		return true
	}
	return false
}

// sourcesOf returns the rules by which assets of a type copy values from other assets. They
// copy the attributes in meta.Type.Follows, and the security scope if it comes from a relation.
func (l *layout) sourcesOf(t *meta.Type) []source {
	var all []source
	add := func(name string, slot int) {
		a, ok := t.Attr(name)
		if !ok || slot < 0 || a.Place.Kind == meta.InColumn && a.Place.Slot == slot {
			return
		}
		for i := range all {
			if all[i].relation == a {
				if !slices.Contains(all[i].slots, slot) {
					all[i].slots = append(all[i].slots, slot)
				}
				return
			}
		}
		all = append(all, source{a, []int{slot}})
	}
	if t.Secured.Via != "" {
		add(t.Secured.Via, l.scope)
	}
	for _, name := range t.Follows.Attributes {
		if a, ok := t.Attr(name); ok && a.Place.Kind == meta.InColumn {
			add(t.Follows.Relation, a.Place.Slot)
		}
	}
	return all
}

func (l *layout) stateRules(m *meta.Model, t *meta.Type, tr *typeRules) {
	a, ok := t.Attr(t.StateFrom.Attribute)
	if !ok {
		return
	}
	tr.stateAttr, tr.states = a, map[int64]int{}
	for token, code := range t.StateFrom.States {
		if o, err := oid.Parse(token); err == nil {
			if id, ok := storedID(m, o); ok {
				tr.states[id] = code
			}
		}
	}
}

// sourceOf returns the rule that copies from the target of the relation called name, if there is
// such a rule.
func (tr *typeRules) sourceOf(name string) (source, bool) {
	for _, s := range tr.sources {
		if s.relation.Name == name {
			return s, true
		}
	}
	return source{}, false
}

// follows reports whether assets of a type copy values from the target of relation a, or are
// parts of the target. If so, the target must not change while the relation is written.
func (l *layout) follows(t *meta.Type, a *meta.Attr) bool {
	tr := l.types[t]
	if tr == nil {
		return false
	}
	_, copies := tr.sourceOf(a.Name)
	return copies || t.PartOf.Relation == a.Name || a.Back != nil && l.mustBeEmpty[relationOf{a.Related, a.Back.Name}]
}

// partRules returns the rules for the parts on which the operation op on assets of type t also
// runs.
func (l *layout) partRules(t *meta.Type, op string) []partRule {
	var all []partRule
	for _, p := range l.parts {
		if p.relation.Reaches(t) && slices.Contains(p.ops, op) {
			all = append(all, p)
		}
	}
	return all
}

// hasDependents reports whether a change of attribute a on an asset of type t may require changes
// of the assets that copy values from the asset.
func (l *layout) hasDependents(t *meta.Type, a *meta.Attr) bool {
	if a == nil || !a.ToOne() {
		return false
	}
	if a.Place.Kind == meta.InColumn && slices.Contains(l.copiedSlots, a.Place.Slot) {
		return true
	}
	for _, c := range t.Concrete {
		if tr := l.types[c]; tr != nil {
			if _, ok := tr.sourceOf(a.Name); ok {
				return true
			}
		}
	}
	return false
}

// storedID returns the stored id of an Oid. It returns false if the Oid is null or its type
// is unknown.
func storedID(m *meta.Model, o oid.OID) (int64, bool) {
	t, ok := m.Type(o.Type)
	if !ok || o.IsNull() {
		return 0, false
	}
	return t.Stored(o.ID), true
}

// upTree returns the name of the tree in which an attribute of type t refers to the parent. The
// row of tree_lock has the same name. The result is empty if the attribute forms no tree.
func upTree(t *meta.Type, name string) string {
	for _, h := range t.Hierarchies {
		if h.Up.Name != name {
			continue
		}
		if h.Up.On.Name == "Story" {
			return "Story.Split"
		}
		return h.Up.On.Name
	}
	return ""
}

// treeOf returns the name of the tree that may be reordered by a change of the relation a. It
// returns an empty text if there is no such tree. The relation may refer to the parent, or be the
// reverse of such a relation.
func treeOf(t *meta.Type, a *meta.Attr) string {
	if a.Place.Kind == meta.Reverse && a.Back != nil {
		return upTree(a.Back.On, a.Back.Name)
	}
	if a.ToOne() {
		return upTree(t, a.Name)
	}
	return ""
}

// storedAtOtherEnd reports whether a relation is stored with the asset at its other end. A write
// of the relation then changes that asset.
func storedAtOtherEnd(a *meta.Attr) bool {
	return a.Place.Kind == meta.Reverse || a.Place.Kind == meta.InLinksBack && a.Back != nil && a.Back.ToOne()
}
