package rightstest

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// relation is a relation between two assets that can be written from its other side: from the asset that
// does not store it.
type relation struct {
	attr    *meta.Attr // attribute of the asset that does not store the relation
	holder  string     // a type whose assets store the relation
	forward string     // attribute of the holder that stores the relation
}

// relations returns the relations that can be written from an asset of a type although another asset stores
// them. Each returned relation has only one of the types whose assets can store it. Relations that every
// type has are tested only with Story, except for MentionedInExpressions.
func relations(typ string) []relation {
	t := typeNamed(typ)
	var all []relation
	for _, a := range t.Attrs {
		if a.Place.Kind != meta.InLinksBack && a.Place.Kind != meta.Reverse || a.Back == nil || a.Token() == "Member.Scopes" {
			continue
		}
		everywhere := a.Back.Related.Name == "BaseAsset"
		if everywhere && typ != "Story" && a.Name != "MentionedInExpressions" {
			continue
		}
		for _, h := range a.TargetTypes() {
			f, ok := h.Attr(a.Back.Name)
			if ok && !f.ReadOnly && f.Takes(t) && (f.Place.Kind == meta.InColumn || f.Place.Kind == meta.InLinks) {
				all = append(all, relation{a, h.Name, f.Name})
				break
			}
		}
	}
	// Expressions come first. Everybody may change them, so only the right on the asset itself matters.
	slices.SortStableFunc(all, func(a, b relation) int { return rankOf(a) - rankOf(b) })
	return all
}

func rankOf(r relation) int {
	if r.holder == "Expression" {
		return 0
	}
	return 1
}

// related returns cells that write a relation from the asset that does not store it. By other paths than
// fromBehind, only the first relation is tested.
func (w *world) related(m *member, typ, path string) []*cell {
	all := relations(typ)
	if path != fromBehind {
		all = all[:min(len(all), 1)]
	}
	var cells []*cell
	for _, r := range all {
		for _, own := range w.ownersOf(typ, m) {
			cells = append(cells, w.relates(m, typ, r, path, own))
			if r.holder == typ && path == fromBehind && !inTree(r) {
				cells = append(cells, w.relatesItself(m, r, own))
			}
		}
	}
	return cells
}

func (w *world) relates(m *member, typ string, r relation, path string, of *member) *cell {
	var own *member
	if w.rights.isOwn(r.holder) {
		own = m
	}
	holder := w.fixture(r.holder, own, "")
	holder.key += ", holder"
	list := []any{"$0"}
	if path == byCreate {
		c := w.creates(m, typ)[0]
		c.verb, c.name, c.path, c.slots = relate, r.attr.Name, path, []*slot{holder}
		c.command[r.attr.Name] = list
		c.uses(use{holder, "Violation'Invalid'" + typ + "." + r.attr.Name})
		c.parts[0].needs = append(c.parts[0].needs, w.holding(holder.thing, c.parts[0].needs[0].thing, r)...)
		if typ == "Schedule" && r.attr.Name == "ScheduledScopes" {
			c.parts[0].needs[0].in = holder.in
		}
		return c
	}
	s := w.fixture(typ, of, "")
	list[0] = "$1"
	c := w.onAsset(m, relate, s, r.attr.Name)
	c.path = path
	c.slots = append(c.slots, holder)
	c.uses(use{holder, "Violation'Invalid'" + typ + "." + r.attr.Name})
	c.command = attrs{"from": "$0", "update": attrs{r.attr.Name: list}}
	c.parts[0].needs = append(c.parts[0].needs, w.holding(holder.thing, s.thing, r)...)
	return c
}

// inTree reports whether the relation belongs to a hierarchy, in which an asset cannot be below itself.
func inTree(r relation) bool {
	return slices.ContainsFunc(typeNamed(r.holder).Hierarchies, func(h meta.Hierarchy) bool { return h.Up.Name == r.forward })
}

// relatesItself returns a cell that relates an asset to itself, from the side that does not store the
// relation. This changes the asset.
func (w *world) relatesItself(m *member, r relation, own *member) *cell {
	s := w.fixture(r.holder, own, "")
	c := w.onAsset(m, relate, s, r.attr.Name+" itself")
	c.path = fromBehind
	c.command = attrs{"from": "$0", "update": attrs{r.attr.Name: []any{"$0"}}}
	c.parts[0].needs = append(c.parts[0].needs, w.holding(s.thing, s.thing, r)...)
	return c
}

// holding returns the rights that a member needs to make the asset h refer to another asset by a relation.
// The parameter to is that other asset.
func (w *world) holding(h, to thing, r relation) []need {
	after, forward := h, r.forward
	t := typeNamed(h.typ)
	if owners[h.typ] == forward {
		after.own = to.is
	}
	switch {
	case h.typ == "Scope" && forward == "Parent":
		after.in = []*project{{"", to.in[0]}}
		old, new := h, thing{typ: "Scope", in: to.in}
		return []need{{h, change, forward}, {after, change, forward}, {old, create, ""}, {new, create, ""}}
	case w.rights.On[h.typ] == forward:
		after.on = &to
	case t.Secured.Via == forward:
		after.in = secured(to)
	case w.rights.Lie[h.typ] == forward && holdsMany(h.typ, forward):
		after.in = append(slices.Clone(h.in), to.in...)
	case w.rights.Lie[h.typ] == forward:
		after.in = to.in
	}
	return []need{{h, change, forward}, {after, change, forward}}
}

// holdsMany reports whether a relation of a type can refer to several assets.
func holdsMany(typ, forward string) bool {
	a, _ := typeNamed(typ).Attr(forward)
	return a.Multi
}
