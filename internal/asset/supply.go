package asset

import (
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// origin says what of its context a new asset gets.
type origin uint8

const (
	theContext origin = iota + 1 // the context itself, in a relation
	itsProject                   // the project the context belongs to, which a project is itself
	itsOwn                       // what the context has under the same name
	theCaller                    // the acting member
	today                        // the day of the write, in UTC
	future                       // the value that goes with AssetState Future
	nextName                     // of the timebox's schedule: its name and the next number
	nextBegin                    // of it: where the last timebox ended and the gap is over, else today
	nextEnd                      // of it: its length behind nextBegin
)

// supply is one attribute that new assets get from their context when their
// command does not say it. docs/contexts.md shows the rows as a table.
type supply struct {
	made    []string // types of new assets, with those below them; none: every type that can have the attribute
	in      []string // types of contexts, likewise; none: every type that fits
	attr    string
	from    origin
	beneath string // only where this relation of the new asset names the context
}

var (
	planned   = []string{"PrimaryWorkitem", "Epic"}
	wished    = []string{"PrimaryWorkitem", "Epic", "Issue"}
	raised    = []string{"PrimaryWorkitem", "Epic", "Request", "Retrospective"}
	attached  = []string{"Note", "Link", "Attachment", "EmbeddedImage", "Message"}
	calendars = []string{"Schedule", "Scope"}
)

// supplies are carried out in this order: what a row looks at stands above it.
// A Theme is not the Parent of what is made near it.
var supplies = []supply{
	{made: planned, in: []string{"Epic"}, attr: "Super", from: theContext},
	{made: planned, in: []string{"Epic"}, attr: "Name", from: itsOwn, beneath: "Super"},
	{made: planned, in: []string{"Epic"}, attr: "Description", from: itsOwn, beneath: "Super"},
	{made: []string{"Task"}, in: []string{"PrimaryWorkitem"}, attr: "Parent", from: theContext},
	{made: []string{"Test"}, in: planned, attr: "Parent", from: theContext},
	{made: []string{"Scope"}, in: []string{"Scope"}, attr: "Parent", from: theContext},
	{made: []string{"Scope"}, in: []string{"Scope"}, attr: "BeginDate", from: today},
	{attr: "Schedule", in: []string{"Schedule"}, from: theContext},
	{made: []string{"Timebox"}, in: []string{"Scope"}, attr: "Schedule", from: itsOwn},
	{made: []string{"Timebox"}, in: calendars, attr: "Name", from: nextName},
	{made: []string{"Timebox"}, in: calendars, attr: "BeginDate", from: nextBegin},
	{made: []string{"Timebox"}, in: calendars, attr: "EndDate", from: nextEnd},
	{made: []string{"Timebox"}, in: calendars, attr: "State", from: future},
	{made: wished, in: []string{"Request"}, attr: "Requests", from: theContext},
	{made: wished, in: []string{"Request"}, attr: "Name", from: itsOwn},
	{made: wished, in: []string{"Request"}, attr: "Description", from: itsOwn},
	{made: wished, in: []string{"Request"}, attr: "RequestedBy", from: itsOwn},
	{made: raised, in: []string{"Issue"}, attr: "Issues", from: theContext},
	{made: raised, in: []string{"Issue"}, attr: "Name", from: itsOwn},
	{made: raised, in: []string{"Issue"}, attr: "Description", from: itsOwn},
	{made: []string{"Actual"}, in: []string{"Workitem"}, attr: "Workitem", from: theContext},
	{made: []string{"Actual"}, in: []string{"Workitem"}, attr: "Team", from: itsOwn},
	{made: []string{"Actual"}, in: []string{"Workitem"}, attr: "Timebox", from: itsOwn},
	{made: []string{"Actual"}, in: []string{"Workitem"}, attr: "Member", from: theCaller},
	{made: []string{"Actual"}, in: []string{"Workitem"}, attr: "Date", from: today},
	{made: attached, attr: "Asset", from: theContext},
	{attr: "Scope", in: []string{"Scope"}, from: theContext},
	{attr: "Scope", from: itsProject},
}

// attrOn returns the attribute that a row fills on a new asset of one type in
// a context of another; false when the row is not about these types.
func (s *supply) attrOn(made, in *meta.Type) (*meta.Attr, bool) {
	a, ok := made.Attr(s.attr)
	if !ok || a.ReadOnly || !amongTypes(made, s.made) || !amongTypes(in, s.in) {
		return nil, false
	}
	switch s.from {
	case theContext:
		return a, a.Kind == meta.Relation && a.Reaches(in)
	case itsProject:
		return a, a.Place.Kind == meta.InColumn
	case itsOwn:
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
	return slices.ContainsFunc(supplies, func(s supply) bool {
		a, ok := s.attrOn(child, parent)
		return ok && s.from == theContext && a.Name == name && a.ToOne()
	})
}
