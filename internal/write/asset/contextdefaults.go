package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// origin is the source of a value that a new asset gets because of its context.
type origin uint8

const (
	contextItself origin = iota + 1 // the context, as the value of a relation
	contextScope                    // the project of the context, or the context if it is a project
	sameAttribute                   // the context's value of the attribute with the same name
	actingMember                    // the member who makes the request
	today                           // the day of the write, in UTC
	futureState                     // the value that results in AssetState Future
	scheduleName                    // the name of the timebox's schedule and the next number
	scheduleBegin                   // the end of the schedule's last timebox plus the gap; for the first timebox, today
	scheduleEnd                     // scheduleBegin plus the timebox length of the schedule
)

// contextDefault is one attribute that a new asset gets because of its context, if the command
// does not set the attribute. docs/contexts.md contains the rows as a table.
type contextDefault struct {
	newTypes     []string // types of new assets, with their subtypes; empty: all types with the attribute
	contextTypes []string // types of contexts, with their subtypes; empty: all types that fit
	attr         string
	from         origin
	onlyIf       string // the row applies only if this relation of the new asset names the context; empty: always
}

var (
	planned   = []string{"PrimaryWorkitem", "Epic"}
	wished    = []string{"PrimaryWorkitem", "Epic", "Issue"}
	raised    = []string{"PrimaryWorkitem", "Epic", "Request", "Retrospective"}
	attached  = []string{"Note", "Link", "Attachment", "EmbeddedImage", "Message"}
	calendars = []string{"Schedule", "Scope"}
)

// contextDefaults apply in this order. A row that reads an attribute comes after the row that
// sets it. A Theme does not become the Parent of assets that are created in its context.
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

// attrOn returns the attribute that a row of contextDefaults sets on a new asset. made is the type
// of the new asset, and in is the type of its context. attrOn returns false if the row does not
// apply to these types.
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

// amongTypes reports whether a type is one of the named types or a subtype of one. It returns true
// if names is empty.
func amongTypes(t *meta.Type, names []string) bool {
	for up := t; up != nil && len(names) > 0; up = up.Parent {
		if slices.Contains(names, up.Name) {
			return true
		}
	}
	return len(names) == 0
}

// Implied reports whether the context of a new asset becomes the value of the to-one attribute that
// is called name, if the command does not set this attribute. child is the type of the new asset,
// and parent is the type of the context. Examples are the Parent of a Task, the Super of a Story in
// an Epic, and the Scope of a workitem in a project.
func Implied(child, parent *meta.Type, name string) bool {
	return slices.ContainsFunc(contextDefaults, func(s contextDefault) bool {
		a, ok := s.attrOn(child, parent)
		return ok && s.from == contextItself && a.Name == name && a.ToOne()
	})
}
