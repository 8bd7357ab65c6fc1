package activity

import (
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
)

// Verb is a word of the interface that describes a change.
type Verb string

// The verbs.
const (
	Created     Verb = "Created"
	Deleted     Verb = "Deleted"
	Undeleted   Verb = "Undeleted"
	Closed      Verb = "Closed"
	Reopened    Verb = "Reopened"
	Deprecated  Verb = "Deprecated"
	Activated   Verb = "Activated"
	Deactivated Verb = "Deactivated"
	Removed     Verb = "Removed"
	Added       Verb = "Added"
	Moved       Verb = "Moved"
	Blocked     Verb = "Blocked"
	UnBlocked   Verb = "UnBlocked"
	Updated     Verb = "Updated"
)

var verbs = []Verb{
	Created, Deleted, Undeleted, Closed, Reopened, Deprecated, Activated, Deactivated, Removed, Added, Moved, Blocked, UnBlocked, Updated,
}

// closable are the types for which closing an asset means that its work is finished. For other
// types, such as members or list values, closing an asset deactivates it.
var closable = []string{"Workitem", "Scope", "Timebox", "Issue", "Request", "Goal", "Retrospective"}

// definitions are the types of assets that define the model itself.
var definitions = []string{"AssetType", "AttributeDefinition"}

// located are the types for which a new Parent means that the asset was moved.
var located = []string{"Scope", "Task", "Test"}

// relationBlocking is the relation from a workitem to the issues that block it.
const relationBlocking = "BlockingIssues"

func isAny(t *meta.Type, names []string) bool {
	for ; t != nil; t = t.Parent {
		for _, name := range names {
			if t.Name == name {
				return true
			}
		}
	}
	return false
}

// verbOf returns the verb of an entry in the stream of a whole. The first rule that applies
// determines the verb.
// Spec: interface 4.5.2.
func (w *whole) verbOf(e *entry) Verb {
	s := &e.step
	part := w.parts && s.Now.ID != w.id
	switch v := ofState(s); {
	case !e.seenBefore && part:
		return Added
	case s.IsCreation() && part:
		return Added
	case s.IsCreation():
		return Created
	case v != "" && e.seenBefore:
		return v
	case part && w.leaves(e):
		return Removed
	case part && w.enters(e):
		return Added
	case w.moved(s):
		return Moved
	}
	return ofChanges(e.changes)
}

// enters reports whether the asset of an entry becomes a part of the whole.
func (w *whole) enters(e *entry) bool {
	return e.how == linked || e.how == inColumn && !w.has(e.step.Before) && w.has(&e.step.Now)
}

// leaves reports whether the asset of an entry stops being a part of the whole.
func (w *whole) leaves(e *entry) bool {
	return e.how == unlinked || e.how == inColumn && w.has(e.step.Before) && !w.has(&e.step.Now)
}

// ofState returns the verb for a change of the state. It returns an empty verb if the state did not
// change.
func ofState(s *change.Step) Verb {
	if s.Before == nil || s.Before.State == s.Now.State {
		return ""
	}
	from, to, t := s.Before.State, s.Now.State, s.Now.Type
	switch {
	case to == meta.StateDeleted:
		return Deleted
	case from == meta.StateDeleted:
		return Undeleted
	case to >= meta.StateDead, to == meta.StateClosed && isAny(t, definitions):
		return Deprecated
	case to == meta.StateClosed && isAny(t, closable):
		return Closed
	case to == meta.StateClosed:
		return Deactivated
	case from >= meta.StateClosed && isAny(t, closable):
		return Reopened
	case to == meta.StateActive:
		return Activated
	}
	return Deactivated
}

// moved reports whether the location of the asset has changed.
func (w *whole) moved(s *change.Step) bool {
	if s.Before == nil {
		return false
	}
	if w.slots.scope >= 0 && s.Before.Columns[w.slots.scope] != s.Now.Columns[w.slots.scope] {
		return true
	}
	return isAny(s.Now.Type, located) && s.Before.Columns[w.slots.parent] != s.Now.Columns[w.slots.parent]
}

// ofChanges returns the verb for changes of attributes that the caller sees.
func ofChanges(changes []change.Change) Verb {
	v := Updated
	for _, c := range changes {
		switch {
		case c.Attr.Name != relationBlocking:
		case c.Act == change.Added:
			return Blocked
		case c.Act == change.Removed:
			v = UnBlocked
		}
	}
	return v
}
