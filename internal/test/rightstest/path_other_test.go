package rightstest

import (
	"maps"
	"slices"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
)

// nests maps the type of a new asset to the asset and the relation in which the new asset is created. The
// update of that asset writes nothing else.
var nests = map[string][2]string{
	"Story": {"target", "Workitems"}, "Defect": {"target", "Workitems"}, "Epic": {"target", "Workitems"}, "Theme": {"target", "Workitems"},
	"TestSet": {"target", "Workitems"}, "Goal": {"target", "Goals"}, "Issue": {"target", "Issues"}, "Request": {"target", "Requests"},
	"Retrospective": {"target", "Retrospectives"}, "Environment": {"target", "Environments"}, "RegressionPlan": {"target", "RegressionPlans"},
	"RegressionTest": {"target", "RegressionTests"}, "TeamRoom": {"target", "TeamRooms"}, "Capacity": {"target", "Capacities"},
	"Actual": {"target", "Actuals"}, "Scope": {"target", "Children"},
	"Task": {"story", "Children"}, "Test": {"story", "Children"}, "Note": {"story", "Notes"}, "Link": {"story", "Links"},
	"Attachment": {"story", "Attachments"}, "EmbeddedImage": {"story", "EmbeddedImages"}, "Message": {"story", "Messages"},
	"Expression": {"story", "MentionedInExpressions"}, "RegressionSuite": {"plan", "RegressionSuites"},
	"Timebox": {"schedule", "Timeboxes"}, "BuildRun": {"build", "BuildRuns"}, "MessageReceipt": {"message", "Receipts"},
}

// nested returns a cell that creates an asset inside another command, or nil if there is no such command.
func (w *world) nested(m *member, typ string) []*cell {
	inside := w.creates(m, typ)[0]
	c := &cell{who: m, typ: typ, verb: create, path: byNesting}
	if in, ok := nests[typ]; ok {
		outer := w.base[in[0]]
		c.name = outer.typ + "." + in[1]
		c.command = attrs{"from": "$" + in[0], "update": attrs{in[1]: []any{inside.command}}}
		c.parts = append([]part{{uses: []use{{outer, "Invalid OID token: $" + in[0]}}, needs: []need{{outer.thing, relate, ""}}}}, inside.parts...)
		return []*cell{c}
	}
	holder, a := holderOf(typ)
	if a == nil {
		return nil
	}
	outside := w.creates(m, holder)[0]
	c.name = a.Token()
	c.command = outside.command
	c.command[a.Name] = inside.command
	if holder == "Timebox" && typ == "Schedule" { // neither the new schedule nor the timebox has a project
		outside.parts[0].uses, outside.parts[0].needs[0].in = nil, nil
	}
	c.parts, c.whole = slices.Concat(inside.parts, outside.parts), true
	if !a.ToOne() && a.Back != nil {
		c.command[a.Name] = []any{inside.command}
		inside.parts[0].needs = append(inside.parts[0].needs, need{outside.parts[0].needs[0].thing, change, a.Name})
		c.parts, c.whole = slices.Concat(outside.parts, inside.parts), false
	}
	return []*cell{c}
}

// holderOf returns a type and one of its relations that can refer to assets of the type typ.
func holderOf(typ string) (string, *meta.Attr) {
	for _, h := range types() {
		for _, a := range typeNamed(h).Attrs {
			held := a.Place.Kind == meta.InColumn || a.Place.Kind == meta.InLinks
			if a.Kind == meta.Relation && held && !a.ReadOnly && a.Takes(typeNamed(typ)) && h != "Actual" {
				return h, a
			}
		}
	}
	return "", nil
}

// tagged returns cells that merge a tag that only one asset has into another tag.
func (w *world) tagged(m *member, typ string) []*cell {
	if _, ok := typeNamed(typ).Attr("TaggedWith"); !ok {
		return nil
	}
	var all []*cell
	for _, own := range w.ownersOf(typ, m) {
		s := w.fixture(typ, own, "")
		s.key += ", tagged"
		s.attrs["TaggedWith"] = []any{"t" + strconv.FormatInt(w.names.Add(1), 10)}
		c := w.onAsset(m, change, s, "TaggedWith")
		c.path, c.url, c.noMatch = byTags, "/api/tags/command/merge", true
		c.body = attrs{"MergeTo": "$name", "MergeFrom": []any{"$tag"}}
		tags := need{thing{typ: "tag", own: m}, change, ""}
		here := thing{typ: "tag", in: secured(s.thing)} // only system administrators may do this without a project
		switch {
		case !w.rights.may(m, tags.thing, change, ""):
			c.parts[0].uses = nil
		case !w.rights.may(m, here, change, ""):
			c.parts[0].uses[0].slot = &slot{thing: thing{typ: "Story", in: []*project{nil}}}
		}
		c.parts[0].needs = append(c.parts[0].needs, tags)
		all = append(all, c)
	}
	return all
}

// undone returns cells in which a member takes back what the administrator has done with an asset: its
// creation, or a change.
func (w *world) undone(m *member, typ, verb string) []*cell {
	var all []*cell
	for _, own := range w.ownersOf(typ, m) {
		s, name := w.fixture(typ, own, ""), "Delete"
		if verb == change {
			var v any
			name, v = changed(typ)
			s.key += ", changed"
			s.first, s.set = append(s.first, "set"), attrs{name: v}
		}
		c := w.onAsset(m, verb, s, name)
		c.path, c.url, c.body = byUndo, "/api/undo", attrs{"asset": "$0", "moment": "$moment"}
		c.parts[0].uses[0].text = notFound
		all = append(all, c)
	}
	return all
}

// hooked returns a cell in which a member creates, changes, tests or deletes a webhook subscription.
func (w *world) hooked(m *member, verb string) []*cell {
	c := &cell{who: m, typ: "webhook", verb: verb, path: byHook, url: "/api/webhook", parts: []part{{needs: []need{{thing{typ: "webhook"}, verb, ""}}}}}
	switch verb {
	case create:
		c.body = maps.Clone(hook)
	case change:
		c.url, c.body = "/api/webhook/", attrs{"description": "$name"}
	case operate:
		c.url, c.body = "/api/webhook/test/", attrs{}
	case del:
		c.url, c.body = "/api/webhook/delete/", attrs{}
	}
	return []*cell{c}
}

// hook is a subscription to events that never happen.
var hook = attrs{"url": "https://hooks.example.org/", "eventTypes": []any{attrs{"type": "AssetCreated", "from": "Publication"}}}

// assigned returns cells that change the members of a project or their roles.
func (w *world) assigned(m *member) []*cell {
	var all []*cell
	for _, role := range []string{"Visitor", "Team Member", memberAdmin, "Project Admin", systemAdmin} {
		for _, form := range []string{"Scope.AssignMemberWithRole", "Member.AssignToScopeWithRole"} {
			all = append(all, w.assigns(m, form, role))
		}
	}
	return append(all, w.joins(m, "Scope.Members"), w.joins(m, "Member.Scopes"))
}

// assigns returns a cell in which the member m gives somebody a role in a project.
func (w *world) assigns(m *member, form, role string) *cell {
	scope, other := w.fixture("Scope", nil, ""), w.fixture("Member", nil, "")
	c := &cell{who: m, typ: "Scope", verb: operate, path: byExecute, name: "AssignMemberWithRole as " + role, slots: []*slot{other, scope}, changes: true}
	c.command = attrs{"from": "$1", "execute": attrs{"op": "AssignMemberWithRole", "args": attrs{"Member": "$0", "Role": w.rights.role[role]}}}
	uses := []use{{scope, "Invalid OID token: $1"}, {other, "Violation'Invalid'Scope.AssignMemberWithRole.Member"}, {other, "Violation'Invalid'Scope.Member"}}
	x, name := scope.thing, "AssignMemberWithRole"
	if form[0] == 'M' {
		c.typ, c.name = "Member", "AssignToScopeWithRole as "+role
		c.command = attrs{"from": "$0", "execute": attrs{"op": "AssignToScopeWithRole", "args": attrs{"Scope": "$1", "Role": w.rights.role[role]}}}
		uses = []use{{other, "Invalid OID token: $0"}, {scope, "Violation'Invalid'Member.AssignToScopeWithRole.Scope"}, {scope, "Violation'Invalid'Member.Scope"}}
		x, name = thing{typ: "Member", in: scope.in}, "AssignToScopeWithRole"
		c.changes = false
	}
	c.parts = []part{{uses: uses, needs: []need{{x, operate, name}}}}
	if own := m.roleIn(inner); own == "" || w.rights.above(role, own) {
		c.parts[0].needs = append(c.parts[0].needs, need{thing{typ: x.typ, high: true}, operate, name})
	}
	return c
}

// joins returns a cell in which the member m adds somebody to the members of a project, without a role.
func (w *world) joins(m *member, form string) *cell {
	scope, other := w.fixture("Scope", nil, ""), w.fixture("Member", nil, "")
	if form[0] == 'S' {
		c := w.onAsset(m, change, scope, "Members")
		c.path, c.slots = byOid, []*slot{scope, other}
		c.changes = false
		c.command = attrs{"from": "$0", "update": attrs{"Members": []any{"$1"}}}
		c.uses(use{other, "Violation'Invalid'Scope.Members"})
		return c
	}
	c := w.onAsset(m, relate, other, "Scopes")
	c.path, c.slots, c.changes = fromBehind, []*slot{other, scope}, false
	c.command = attrs{"from": "$0", "update": attrs{"Scopes": []any{"$1"}}}
	c.uses(use{scope, "Violation'Invalid'Member.Scopes"})
	c.parts[0].needs = append(c.parts[0].needs, need{scope.thing, change, "Members"})
	return c
}
