package asset

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
)

// layout is the model as the write engine needs it: columns, and the rules of
// each type. It is made once and never changes.
type layout struct {
	prepares       bool     // statements about a few assets are prepared; on a server they go as text
	columns        []string // of asset: fixed, slots, attrs
	copied         string   // the columns that asset_version has of asset
	copying        string   // their expressions
	slots          []meta.Column
	scope          int // slot of scope_id
	description    int // slot of description
	copiedSlots    []int
	types          map[*meta.Type]*typeRules
	dependentRules []dependentRule
	ranked         map[string][]int64 // by sequence of ranks: the codes of the types that share it
	ranks          map[string]bool    // names of attributes
	decideSeen     map[string]bool    // names of attributes: who sees an asset depends on them
	parts          []partRule

	members       *meta.Attr // Scope.Members; nil in a model without, as those below
	defaultRole   *meta.Attr // Member.DefaultRole
	loginDisabled *meta.Attr // Member.IsLoginDisabled
	role          *meta.Type
	member        *meta.Type

	membersRights *meta.RightsKind // who may change members
}

// typeRules are the rules for the assets of one concrete type.
type typeRules struct {
	code      any // boxed once: it goes into every row
	required  []*meta.Attr
	defaults  []*meta.Attr
	order     int // slot of the rank, -1
	number    int // slot of the Number, -1
	sources   []source
	states    map[int64]int // AssetState by stored id of the value of stateAttr
	stateAttr *meta.Attr
	begin     *meta.Attr // with end: the dates that stand in order; nil
	end       *meta.Attr
	username  *meta.Attr
}

// source is a rule that slots are copied from the asset that relation names.
type source struct {
	relation *meta.Attr
	slots    []int
}

// dependentRule is a source seen from the asset that is copied from.
type dependentRule struct {
	dependent *meta.Type
	source
}

// partRule is a PartOf as the owner sees it.
type partRule struct {
	part     *meta.Type
	relation *meta.Attr
	ops      []string
}

var fixedColumns = []string{
	"id", "type", "state", "moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at", "changed_by",
}

// changingColumns are those of the fixed columns that every change changes; some
// change the state, too.
var changingColumns = []string{"moment", "audit_id", "changed_at", "changed_by"}

// keyColumns are the columns of the keys of asset, but for the fixed ones.
var keyColumns = []string{"number", "scope_id", "parent_id", "super_id", "timebox_id", "team_id", "status_id", "order_key"}

// newLayout makes the layout of a model at a generation, for a database. At 0 it may not
// be the present one: what lies in columns that no attribute of m has is kept then.
func newLayout(m *meta.Model, generation int64, d *db.Dialect) *layout {
	columns := m.Columns
	if generation == 0 {
		columns = m.AllColumns()
	}
	l := &layout{prepares: d.IsAlone, slots: columns, scope: -1, description: -1, types: map[*meta.Type]*typeRules{}, ranked: map[string][]int64{}, ranks: map[string]bool{}, decideSeen: map[string]bool{}}
	l.columns = append(l.columns, fixedColumns...)
	for i, c := range columns {
		l.columns = append(l.columns, c.Name)
		switch c.Name {
		case "scope_id":
			l.scope = i
		case "description":
			l.description = i
		}
	}
	l.columns = append(l.columns, "attrs")
	of := slices.Concat(l.columns, []string{"folded"}, db.HashColumns())
	l.copied, l.copying = strings.Join(of, ", "), db.ForVersion(of)
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
		if tr := l.types[t]; tr != nil {
			l.index(t, tr)
			if tr.order >= 0 {
				l.ranked[rankSequence(t)] = append(l.ranked[rankSequence(t)], int64(t.Code))
			}
			if a, ok := t.Attr(t.PartOf.Relation); ok {
				l.parts = append(l.parts, partRule{t, a, t.PartOf.Ops})
			}
		}
	}
	return l
}

// noteSeen adds the attributes by which a rule finds who sees an asset, from both ends.
func (l *layout) noteSeen(rule *meta.Seen) {
	for _, walk := range slices.Concat(rule.Only, rule.By, rule.Through) {
		for _, a := range walk {
			l.decideSeen[a.Name] = true
			if a.Back != nil {
				l.decideSeen[a.Back.Name] = true
			}
			if a.Name == "PersonalTo" {
				l.decideSeen["Personal"] = true // which sets it
			}
		}
	}
}

// attrOf returns an attribute of a type; nil when there is none.
func attrOf(m *meta.Model, typ, name string) *meta.Attr {
	if t, ok := m.Type(typ); ok {
		if a, ok := t.Attr(name); ok {
			return a
		}
	}
	return nil
}

// isMembers reports whether a relation is that of projects to their members.
func (l *layout) isMembers(code int) bool { return l.members != nil && l.members.Place.Code == code }

// roleID returns the stored id of a role.
func (l *layout) roleID(shown int64) int64 {
	if l.role == nil {
		return shown
	}
	return l.role.Stored(shown)
}

// index lists the sources by the asset that is copied from.
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
		stored := isStored(a)
		if a.Required && stored {
			tr.required = append(tr.required, a)
		}
		if a.Default != "" && stored {
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
	return tr
}

// columnAttr returns an attribute that lies in a column; nil when there is none.
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

// sourcesOf returns what is copied into assets of a type: the attributes of
// Follows, and the security scope when it comes over a relation.
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

// sourceOf returns the rule that relation a of type t feeds, if any.
func (tr *typeRules) sourceOf(name string) (source, bool) {
	for _, s := range tr.sources {
		if s.relation.Name == name {
			return s, true
		}
	}
	return source{}, false
}

// follows reports whether an asset of a type copies from what relation a names, or
// belongs to it: that must not change while the relation is written.
func (l *layout) follows(t *meta.Type, a *meta.Attr) bool {
	tr := l.types[t]
	if tr == nil {
		return false
	}
	_, copies := tr.sourceOf(a.Name)
	return copies || t.PartOf.Relation == a.Name
}

// partRules returns the rules by which an operation on assets of a type runs on
// their parts.
func (l *layout) partRules(t *meta.Type, op string) []partRule {
	var all []partRule
	for _, p := range l.parts {
		if p.relation.Reaches(t) && slices.Contains(p.ops, op) {
			all = append(all, p)
		}
	}
	return all
}

// hasDependents reports whether others may have to change when a changes on a t.
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

// storedID returns the stored id of an Oid; false for a null one, or one of an
// unknown type.
func storedID(m *meta.Model, o oid.OID) (int64, bool) {
	t, ok := m.Type(o.Type)
	if !ok || o.IsNull() {
		return 0, false
	}
	return t.Stored(o.ID), true
}

// upTree returns the name of the tree that a to-one attribute makes, which is
// also the row of tree_lock; empty when it makes none.
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

// treeOf returns the tree that a change of a may reorder: a is the upward
// attribute, or its reverse.
func treeOf(t *meta.Type, a *meta.Attr) string {
	if a.Place.Kind == meta.Reverse && a.Back != nil {
		return upTree(a.Back.On, a.Back.Name)
	}
	if a.ToOne() {
		return upTree(t, a.Name)
	}
	return ""
}

// storedAtOtherEnd reports whether a relation is stored with the asset at its
// other end, which therefore changes with it.
func storedAtOtherEnd(a *meta.Attr) bool {
	return a.Place.Kind == meta.Reverse || a.Place.Kind == meta.InLinksBack && a.Back != nil && a.Back.ToOne()
}
