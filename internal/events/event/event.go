package event

import (
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Audit contains the data of a write that its events need.
type Audit struct {
	ID          int64
	Request     string // id of the write, a UUID
	Application string // name of the access token of the write; empty: none
	Tool        string // what the client calls the function that sent the write; empty: unknown
	Reason      string // the Oid of the proposal that the write applies; empty: none
	Trace       string // traceparent of the write; empty: the write is not traced, or the caller does not need it
	Actor       int64  // stored id of the member who made the write
	At          int64  // when the write began, in UTC microseconds
	Generation  int64  // generation of subscriptions when the write was committed
}

// Event is one change, with the rules that match the change.
type Event struct {
	Step    change.Step
	Changes []change.Change
	Audit   *Audit
	Rules   []*Rule // rules that match
	open    []*Rule // rules whose filter or userContext was not evaluated yet

	// gone contains rules for the case that the change hides the asset from the member of the rule.
	// At first it contains rules for which this is possible. After Matcher.look it contains only
	// rules for which this has happened; these rules are also in Rules.
	gone []*Rule

	views           map[int64]*view // key: stored id of the member of a userContext; value: what this member sees
	hidesInstigator bool            // true: the instigator is printed as null
}

// OID returns the Oid of the asset, with the moment of the change.
func (e *Event) OID() oid.OID {
	t := e.Step.Now.Type
	return oid.OID{Type: t.Name, ID: t.Shown(e.Step.Now.ID), Moment: e.Step.Now.Moment}
}

// Reconsider must be called after the caller has removed changes. It removes the rules that are not
// for any of the remaining changes.
func (e *Event) Reconsider() {
	e.Rules = slices.DeleteFunc(e.Rules, func(r *Rule) bool { return len(e.Changes) == 0 || !r.isFor(e.Changes) })
}

// Targets returns the targets of the matching rules, each target once, in the order of the rules.
// The order of a rule is its position in its target.
func (e *Event) Targets() []*Target {
	slices.SortStableFunc(e.Rules, func(a, b *Rule) int { return a.order - b.order })
	var all []*Target
	for _, r := range e.Rules {
		if !slices.Contains(all, r.Target) {
			all = append(all, r.Target)
		}
	}
	return all
}

// Print appends an event in the form for a target. It omits values that no member in the target's
// userContexts sees. head is the head of the target, or a placeholder for the head. Print appends
// nothing in the same cases in which Text returns nothing.
func (m *Matcher) Print(b []byte, p *Printer, t *Target, head []byte, e *Event, form Form) ([]byte, error) {
	common, err := p.common(e.as(t), form)
	if err != nil {
		return nil, err
	}
	return m.text(b, t, head, e, common, form)
}

// Text returns an event in the form for a target. The event begins with head: the head of the
// target, or a placeholder for the head. Then comes common, the result of Printer.Common. The event
// ends with the snapshot. The snapshot has one row for each distinct selection of the target's
// rules.
//
// If the member in the userContext of a rule does not see the asset, the rule has no row. If no
// rule of the target has a row, Text returns nothing. There is one exception: if a member saw the
// asset before the change, the event has an empty snapshot.
func (m *Matcher) Text(t *Target, head []byte, e *Event, common []byte) []byte {
	b, _ := m.text(nil, t, head, e, common, Whole) // with the form Whole, text never returns an error
	return b
}

func (m *Matcher) text(b []byte, t *Target, head []byte, e *Event, common []byte, form Form) (_ []byte, err error) {
	start, isGone := len(b), false
	b = append(append(b, '{'), head...)
	b = append(b, common...)
	b = append(b, `,"snapshot":[`...)
	var done []string
	for _, r := range e.Rules {
		if r.Target != t || slices.Contains(done, r.rowKey) {
			continue
		}
		row := m.rows[r.rowKey][e]
		if row == nil {
			isGone = isGone || slices.Contains(e.gone, r)
			continue
		}
		if len(done) > 0 {
			b = append(b, ',')
		}
		done = append(done, r.rowKey)
		if form == Whole {
			b = append(b, row...)
		} else if b, err = appendReduced(b, row, form); err != nil {
			return nil, err
		}
	}
	switch {
	case len(done) == 0 && !isGone:
		return b[:start], nil
	case form != Whole:
		return append(b, `],"reduced":true}`...), nil
	}
	return append(b, "]}"...), nil
}
