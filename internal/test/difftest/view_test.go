package difftest

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// current is the moment of the current state, as an argument of the method at.
const current = db.Forever - 1

// view is a world as it was at one moment.
type view struct {
	w      *world
	moment int64
	assets map[int64]*version
	order  []*version // by id
}

// node is one version of an asset, in a view. The zero node stands for no asset.
type node struct {
	*version
	in *view
}

// at returns the world as it was at a moment.
func (w *world) at(moment int64) *view {
	if v, ok := w.views[moment]; ok {
		return v
	}
	v := &view{w: w, moment: moment, assets: map[int64]*version{}}
	for id, all := range w.versions {
		for _, x := range all {
			if x.moment <= moment && moment < x.until {
				v.assets[id] = x
				v.order = append(v.order, x)
			}
		}
	}
	slices.SortFunc(v.order, func(a, b *version) int { return int(a.id - b.id) })
	w.views[moment] = v
	return v
}

// ofItself returns a version as of its own moment, or as of the horizon if the version began earlier. It
// returns nil if the version ended at or before the horizon.
func (w *world) ofItself(x *version) []node {
	if x.until <= w.horizon {
		return nil
	}
	return []node{{x, w.at(max(x.moment, w.horizon))}}
}

// get returns the asset with an id, or the zero node.
func (v *view) get(id any) node {
	if n, ok := id.(int64); ok {
		if x := v.assets[n]; x != nil {
			return node{x, v}
		}
	}
	return node{}
}

// nodes returns all assets, sorted by id.
func (v *view) nodes() []node {
	all := make([]node, len(v.order))
	for i, x := range v.order {
		all[i] = node{x, v}
	}
	return all
}

func (n node) none() bool { return n.version == nil }

// some returns the assets that have a value in a column, sorted by id. slot is the index of the column.
func (v *view) some(slot int, value int64) []node {
	var all []node
	for _, x := range v.order {
		if x.columns[slot] == any(value) {
			all = append(all, node{x, v})
		}
	}
	return all
}

// related returns the assets that a stored relation of n refers to directly, sorted by id. It does not hide
// any of them.
func (n node) related(a *meta.Attr) []node {
	v := n.in
	var all []node
	add := func(x node) {
		if !x.none() {
			all = append(all, x)
		}
	}
	switch a.Place.Kind {
	case meta.InColumn:
		add(v.get(n.columns[a.Place.Slot]))
	case meta.Reverse:
		for _, x := range v.some(a.Back.Place.Slot, n.id) {
			if x.typ.IsA(a.Related) {
				add(x)
			}
		}
	case meta.InLinks, meta.InLinksBack:
		for _, p := range v.w.links {
			if p.code != a.Place.Code || !p.holds(v.moment) {
				continue
			}
			if a.Place.Kind == meta.InLinks && p.from == n.id {
				add(v.get(p.to))
			} else if a.Place.Kind == meta.InLinksBack && p.to == n.id {
				add(v.get(p.from))
			}
		}
	case meta.Closure:
		all = n.closure(a.Place.Closure)
	case meta.System:
		all = n.system(a.Name)
	default:
		panic("no relation: " + a.Token())
	}
	slices.SortStableFunc(all, func(a, b node) int { return int(a.id - b.id) })
	return all
}

// closure returns the assets above or below n in a hierarchy: those of one level, or those of all levels.
func (n node) closure(c meta.ClosureOf) []node {
	seen := map[int64]bool{n.id: true}
	var all []node
	if c.Me {
		all = append(all, n)
	}
	for level := []node{n}; len(level) > 0; {
		var next []node
		for _, x := range level {
			for _, y := range x.step(c) {
				if !seen[y.id] {
					seen[y.id] = true
					next = append(next, y)
				}
			}
		}
		all = append(all, next...)
		level = next
		if !c.Transitive {
			break
		}
	}
	return all
}

// step returns the assets one level above or below n in a hierarchy.
func (n node) step(c meta.ClosureOf) []node {
	if !c.Down {
		return n.related(c.Up)
	}
	return n.related(c.Up.Back)
}

// system returns the assets of a relation that the service computes.
func (n node) system(name string) []node {
	one := func(x node) []node {
		if x.none() {
			return nil
		}
		return []node{x}
	}
	switch name {
	case "ID":
		return one(n)
	case "Now":
		return one(n.in.w.at(current).get(n.id))
	case "CreatedBy":
		return one(n.in.get(n.createdBy))
	case "ChangedBy":
		return one(n.in.get(n.changedBy))
	case "ClosedBy":
		if c := n.closing(); c != nil {
			return one(n.in.get(c.changedBy))
		}
	case "RetiredBy":
		if x := n.next(); x != nil {
			return one(n.in.get(x.changedBy))
		}
	case "Prior":
		return one(n.prior())
	case "History":
		var all []node
		for _, x := range n.in.w.versions[n.id] {
			all = append(all, n.in.w.ofItself(x)...)
		}
		return all
	default:
		panic("no relation: " + name)
	}
	return nil
}

// next returns the version that follows n, or nil if n is the current version.
func (n node) next() *version {
	for _, x := range n.in.w.versions[n.id] {
		if x.moment == n.until {
			return x
		}
	}
	return nil
}

func (n node) prior() node {
	for _, x := range n.in.w.versions[n.id] {
		if x.until == n.moment {
			for _, before := range n.in.w.ofItself(x) {
				return before
			}
		}
	}
	return node{}
}

// closing returns the version in which the asset was closed, or nil if the asset is open.
func (n node) closing() *version {
	var since *version
	for _, x := range n.in.w.versions[n.id] {
		switch {
		case x.moment > n.moment:
		case x.state != 128:
			since = nil
		case since == nil:
			since = x
		}
	}
	return since
}
