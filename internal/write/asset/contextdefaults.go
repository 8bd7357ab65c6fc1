package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// origin is the part of a context that a new asset gets.
type origin uint8

const (
	contextItself origin = iota + 1 // the context itself, in a relation
	contextScope                    // the project the context belongs to, which a project is itself
	sameAttribute                   // what the context has under the same name
	actingMember                    // the acting member
	today                           // the day of the write, in UTC
	futureState                     // the value that goes with AssetState Future
	scheduleName                    // of the timebox's schedule: its name and the next number
	scheduleBegin                   // of it: where the last timebox ended and the gap is over, else today
	scheduleEnd                     // of it: its length after scheduleBegin
)

// contextDefault is one attribute that new assets get from their context when
// their command does not set it. docs/contexts.md shows the rows as a table.
type contextDefault struct {
	newTypes     []string // types of new assets, with those below them; none: every type that can have the attribute
	contextTypes []string // types of contexts, likewise; none: every type that fits
	attr         string
	from         origin
	onlyIf       string // only where this relation of the new asset names the context
}

var (
	planned   = []string{"PrimaryWorkitem", "Epic"}
	wished    = []string{"PrimaryWorkitem", "Epic", "Issue"}
	raised    = []string{"PrimaryWorkitem", "Epic", "Request", "Retrospective"}
	attached  = []string{"Note", "Link", "Attachment", "EmbeddedImage", "Message"}
	calendars = []string{"Schedule", "Scope"}
)

// contextDefaults apply in this order; a row that reads an attribute comes after
// the row that sets it. A Theme is not the Parent of what is made in its context.
var contextDefaults = []contextDefault{
	{newTypes: planned, contextTypes: []string{"Epic"}, attr: "Super", from: contextItself},
	{newTypes: planned, contextTypes: []string{"Epic"}, attr: "Name", from: sameAttribute, onlyIf: "Super"},
	{newTypes: planned, contextTypes: []string{"Epic"}, attr: "Description", from: sameAttribute, onlyIf: "Super"},
	{newTypes: []string{"Task"}, contextTypes: []string{"PrimaryWorkitem"}, attr: "Parent", from: contextItself},
	{newTypes: []string{"Test"}, contextTypes: planned, attr: "Parent", from: contextItself},
	{newTypes: []string{"Scope"}, contextTypes: []string{"Scope"}, attr: "Parent", from: contextItself},
	{newTypes: []string{"Scope"}, contextTypes: []string{"Scope"}, attr: "BeginDate", from: today},
	{attr: "Schedule", contextTypes: []string{"Schedule"}, from: contextItself},
	{newTypes: []string{"Timebox"}, contextTypes: []string{"Scope"}, attr: "Schedule", from: sameAttribute},
	{newTypes: []string{"Timebox"}, contextTypes: calendars, attr: "Name", from: scheduleName},
	{newTypes: []string{"Timebox"}, contextTypes: calendars, attr: "BeginDate", from: scheduleBegin},
	{newTypes: []string{"Timebox"}, contextTypes: calendars, attr: "EndDate", from: scheduleEnd},
	{newTypes: []string{"Timebox"}, contextTypes: calendars, attr: "State", from: futureState},
	{newTypes: wished, contextTypes: []string{"Request"}, attr: "Requests", from: contextItself},
	{newTypes: wished, contextTypes: []string{"Request"}, attr: "Name", from: sameAttribute},
	{newTypes: wished, contextTypes: []string{"Request"}, attr: "Description", from: sameAttribute},
	{newTypes: wished, contextTypes: []string{"Request"}, attr: "RequestedBy", from: sameAttribute},
	{newTypes: raised, contextTypes: []string{"Issue"}, attr: "Issues", from: contextItself},
	{newTypes: raised, contextTypes: []string{"Issue"}, attr: "Name", from: sameAttribute},
	{newTypes: raised, contextTypes: []string{"Issue"}, attr: "Description", from: sameAttribute},
	{newTypes: []string{"Actual"}, contextTypes: []string{"Workitem"}, attr: "Workitem", from: contextItself},
	{newTypes: []string{"Actual"}, contextTypes: []string{"Workitem"}, attr: "Team", from: sameAttribute},
	{newTypes: []string{"Actual"}, contextTypes: []string{"Workitem"}, attr: "Timebox", from: sameAttribute},
	{newTypes: []string{"Actual"}, contextTypes: []string{"Workitem"}, attr: "Member", from: actingMember},
	{newTypes: []string{"Actual"}, contextTypes: []string{"Workitem"}, attr: "Date", from: today},
	{newTypes: attached, attr: "Asset", from: contextItself},
	{attr: "Scope", contextTypes: []string{"Scope"}, from: contextItself},
	{attr: "Scope", from: contextScope},
}

// attrOn returns the attribute that a row fills on a new asset of one type in
// a context of another; false when the row is not about these types.
func (s *contextDefault) attrOn(made, in *meta.Type) (*meta.Attr, bool) {
	a, ok := made.Attr(s.attr)
	if !ok || a.ReadOnly || !amongTypes(made, s.newTypes) || !amongTypes(in, s.contextTypes) {
		return nil, false
	}
	switch s.from {
	case contextItself:
		return a, a.Kind == meta.Relation && a.Reaches(in)
	case contextScope:
		return a, a.Place.Kind == meta.InColumn
	case sameAttribute:
		at, has := in.Attr(s.attr)
		return a, has && at.Kind == a.Kind
	}
	return a, true
}

// amongTypes reports whether a type is one of those named or below one; no
// names mean every type.
func amongTypes(t *meta.Type, names []string) bool {
	for up := t; up != nil && len(names) > 0; up = up.Parent {
		if slices.Contains(names, up.Name) {
			return true
		}
	}
	return len(names) == 0
}

// Implied reports whether a new asset of type child, made in the context of an
// asset of type parent, gets that asset in its attribute called name from the
// context alone: a Task its Parent, a Story below an Epic its Super, a workitem
// in a project its Scope.
func Implied(child, parent *meta.Type, name string) bool {
	return slices.ContainsFunc(contextDefaults, func(s contextDefault) bool {
		a, ok := s.attrOn(child, parent)
		return ok && s.from == contextItself && a.Name == name && a.ToOne()
	})
}
