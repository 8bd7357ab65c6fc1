package rightstest

import (
	"maps"
	"slices"
)

const (
	byCreate   = "bulk create"
	byNesting  = "nested"
	byOid      = "update by Oid"
	byQuery    = "update by query"
	fromBehind = "reciprocal side"
	byExecute  = "execute"
	byPost     = "rest-1 POST"
	byOp       = "?op="
	byTags     = "tags"
	byHook     = "subscriptions"
	byUndo     = "undo"
	byAsync    = "async"
	byPreview  = "preview"
)

// cellsOf returns the cells of a member for a combination of type, verb and path. It returns nil if the
// combination has no cell.
func (w *world) cellsOf(m *member, typ, verb, path string) []*cell {
	switch path {
	case byNesting:
		return w.nested(m, typ)
	case byTags:
		return w.tagged(m, typ)
	case byHook:
		return w.hooked(m, verb)
	case byUndo:
		return w.undone(m, typ, verb)
	case fromBehind:
		return w.related(m, typ, path)
	}
	var all []*cell
	switch verb {
	case create:
		all = w.creates(m, typ)
	case change:
		all = w.changesOf(m, typ, path)
	case relate:
		all = w.related(m, typ, path)
	case operate, del:
		all = w.operates(m, typ, verb)
	}
	if everyName := path == byOid || path == byExecute || path == byPost; !everyName && verb != create && verb != del {
		all = slices.DeleteFunc(all, func(c *cell) bool { return c.name != all[0].name })
	}
	for _, c := range all {
		c.on(path)
	}
	return all
}

// creates returns cells in which the member creates an asset of its own and, if owners have special rights,
// also an asset of somebody else.
func (w *world) creates(m *member, typ string) []*cell {
	c := &cell{who: m, typ: typ, verb: create}
	a := made(typ)
	uses := w.usesOf(c, typ, a)
	a["AssetType"] = typ
	c.command = a
	x := w.rights.thingOf(typ, m)
	if typ == "Schedule" {
		x.in = nil
	}
	c.parts = []part{{uses: uses, needs: []need{{x, create, ""}}, makes: []string{typ}}}
	if owners[typ] == "" {
		return []*cell{c}
	}
	other := &cell{who: m, typ: typ, verb: create, name: owners[typ], command: attrs{}}
	for k, v := range a {
		other.command[k] = v
	}
	other.command[owners[typ]] = "$other"
	uses = append(slices.Clone(uses), use{w.base["other"], "Violation'Invalid'" + typ + "." + owners[typ]})
	x.own = nil
	other.parts = []part{{uses: uses, needs: []need{{x, create, ""}}, makes: []string{typ}}}
	return []*cell{c, other}
}

// onAsset returns a cell in which the member does one thing to one existing asset.
func (w *world) onAsset(m *member, verb string, s *slot, name string) *cell {
	return &cell{
		who: m, typ: s.typ, verb: verb, name: name, slots: []*slot{s}, changes: true,
		parts: []part{{uses: []use{{s, "Invalid OID token: $0"}}, needs: []need{{s.thing, verb, name}}}},
	}
}

// changesOf returns cells that change an asset. By Oid and by POST, further cells change custom attributes,
// and attributes for which other rights may apply than for the asset.
func (w *world) changesOf(m *member, typ, path string) []*cell {
	var all []*cell
	for _, own := range w.ownersOf(typ, m) {
		name, v := changed(typ)
		c := w.onAsset(m, change, w.fixture(typ, own, ""), name)
		c.command = attrs{"from": "$0", "update": attrs{name: v}}
		all = append(all, c)
	}
	if path != byOid && path != byPost {
		return all
	}
	apart := w.exceptions(typ)
	maps.Copy(apart, custom[typ])
	for name, v := range apart {
		c := w.onAsset(m, change, w.fixture(typ, nil, ""), name)
		c.command = attrs{"from": "$0", "update": attrs{name: v}}
		all = append(all, c)
	}
	if typ == "Member" {
		all = append(all, w.changesOfMembers(m)...)
	}
	if path == byOid {
		all = append(all, w.moves(m, typ)...)
	}
	return all
}

// exceptions returns values for the attributes of a type that rights.yaml lists as exceptions.
func (w *world) exceptions(typ string) attrs {
	all := attrs{}
	for _, kinds := range w.rights.Except {
		for _, name := range kinds[w.rights.kindOf(typ, "")] {
			a, ok := typeNamed(typ).Attr(name)
			switch {
			case !ok || a.ReadOnly:
			case a.Multi:
				all[name] = []any{"$me"}
			default:
				all[name] = "$n"
			}
		}
	}
	return all
}

// changesOfMembers returns cells in which the member changes itself, and cells in which it changes a member
// whose role is above Member Admin.
func (w *world) changesOfMembers(m *member) []*cell {
	var all []*cell
	self := &slot{thing: thing{typ: "Member", is: m}, key: m.oid, oid: m.oid}
	for _, name := range []string{"Phone", "Email", "Nickname", "Name", "Reference", "Description"} {
		c := w.onAsset(m, change, self, name)
		c.command = attrs{"from": "$0", "update": attrs{name: "$name"}}
		all = append(all, c)
	}
	for _, name := range []string{"Phone", "Username"} {
		high := w.fixture("Member", nil, "")
		high.high, high.key, high.first = true, "high", []string{"lead"}
		c := w.onAsset(m, change, high, name)
		c.command = attrs{"from": "$0", "update": attrs{name: "$name"}}
		all = append(all, c)
	}
	return all
}

// moves returns cells that move an asset to each of the other projects. The member needs the right in the
// old and in the new project.
func (w *world) moves(m *member, typ string) []*cell {
	by := "Scope"
	if typ == "Scope" {
		by = "Parent"
	}
	if v, ok := makes[typ][by].(string); !ok || v != "$target" || by == "Parent" && typ != "Scope" {
		return nil
	}
	var all []*cell
	for _, to := range []*project{below, above, elsewhere} {
		s := w.fixture(typ, nil, "")
		c := w.onAsset(m, change, s, by)
		c.command = attrs{"from": "$0", "update": attrs{by: "$" + to.name}}
		c.uses(use{w.base[to.name], "Violation'Invalid'" + typ + "." + by})
		there := s.thing
		there.in = []*project{to}
		c.parts[0].needs = append(c.parts[0].needs, need{there, change, by})
		if typ == "Scope" {
			c.parts[0].needs = append(c.parts[0].needs, need{s.thing, create, ""}, need{there, create, ""})
			c.parts[0].raises = w.raises(m, s.in[0], to)
		}
		all = append(all, c)
	}
	return all
}

// raises reports whether a move of a project would give somebody a role in it that the member m may not
// give. The parameters from and to are the parents of the project before and after the move.
func (w *world) raises(m *member, from, to *project) bool {
	if m.system() == systemAdmin {
		return false
	}
	own := m.roleIn(from)
	manages := w.rights.has(own, "project members", change, "Members")
	return slices.ContainsFunc(w.members, func(x *member) bool {
		was, now := x.roleIn(from), x.roleIn(to)
		if was == "" {
			was = "No Access"
		}
		raised := now != "" && (w.rights.above(now, was) || reads(now) && !reads(was))
		return raised && x.system() != systemAdmin && (!manages || w.rights.above(now, own))
	})
}

// operates returns cells that run each operation on an asset.
func (w *world) operates(m *member, typ, verb string) []*cell {
	var all []*cell
	for _, op := range typeNamed(typ).Ops {
		if (op.Name == "Delete" || op.Name == "Undelete") != (verb == del) || len(op.Effect.Args) > 0 || onlyByPlan[op.Name] {
			continue
		}
		for _, own := range w.ownersOf(typ, m) {
			s := w.fixture(typ, own, op.Name)
			c := w.onAsset(m, verb, s, op.Name)
			c.changes = op.Effect.Result == "" && consequences[op.Name] == nil
			c.command = attrs{"from": "$0", "execute": op.Name}
			if op.Name == "Undelete" {
				c.noMatch, c.command["where"] = true, attrs{"IsDeleted": true}
			}
			if r := op.Effect.Result; r != "" {
				c.parts[0].makes = []string{r}
				if op.Effect.Code != "" {
					x := w.rights.thingOf(r, m)
					c.parts[0].needs = append(c.parts[0].needs, need{x, create, ""})
				}
			}
			c.parts[0].makes = append(c.parts[0].makes, consequences[op.Name]...)
			all = append(all, c)
		}
	}
	return all
}

// onlyByPlan are operations that no request runs by their names: plan TestARenewedProposal and its neighbours test
// who may apply a proposal.
var onlyByPlan = map[string]bool{"Apply": true}

// consequences maps an operation to the types of further assets that it creates.
var consequences = map[string][]string{
	"CopyAcceptanceTestsFromRegressionSuite": {"Test"},
	"Send":                                   {"MessageReceipt"},
}

// uses adds assets that the first part of the cell names.
func (c *cell) uses(all ...use) { c.parts[0].uses = append(c.parts[0].uses, all...) }

// on changes the request of the cell so that it uses another path.
func (c *cell) on(path string) {
	c.path = path
	from, _ := c.command["from"].(string)
	switch path {
	case byQuery:
		c.noMatch = true
		c.command["from"] = c.typ
		where := attrs{"ID": "$0"}
		if c.command["where"] != nil {
			where["IsDeleted"] = true
		}
		c.command["where"] = where
	case byPost:
		c.url = "/rest-1.v1/Data/" + c.typ
		c.body, _ = c.command["update"].(attrs)
		if from == "" {
			c.body = attrs{}
			for k, v := range c.command {
				if k != "AssetType" {
					c.body[k] = v
				}
			}
		}
		c.body = attrs{"Attributes": c.body}
	case byOp:
		c.url, c.noMatch = "/rest-1.v1/Data/"+c.typ, false
		c.name = c.command["execute"].(string)
	}
	if c.url != "" && from != "" {
		c.parts[0].uses[0].text = notFound
	}
}
