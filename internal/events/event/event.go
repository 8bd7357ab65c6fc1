package event

import (
	"slices"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Audit is what events show of the write that made them.
type Audit struct {
	ID         int64
	Request    string // id of the write, a UUID
	Trace      string // its traceparent; empty: it is not traced, or nobody asks
	Actor      int64  // stored id
	At         int64  // when the write began; UTC microseconds
	Generation int64  // of the subscriptions, when it was committed
}

// Event is one change and the rules it matches.
type Event struct {
	Step    change.Step
	Changes []change.Change
	Audit   *Audit
	Rules   []*Rule // those it matches
	open    []*Rule // those whose filter or userContext is not evaluated yet
	gone    []*Rule // those of userContexts whose members may have seen the asset before, and in the end those that did

	views           map[int64]*view // what members of userContexts see, by stored id
	hidesInstigator bool
}

// OID names the asset at the moment of the change.
func (e *Event) OID() oid.OID {
	t := e.Step.Now.Type
	return oid.OID{Type: t.Name, ID: t.Shown(e.Step.Now.ID), Moment: e.Step.Now.Moment}
}

// Reconsider drops the rules that are not for the changes left, after the caller has
// removed some.
func (e *Event) Reconsider() {
	e.Rules = slices.DeleteFunc(e.Rules, func(r *Rule) bool { return len(e.Changes) == 0 || !r.isFor(e.Changes) })
}

// Targets returns who gets the event, in the order of the rules.
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

// Print appends an event as a target gets it, without what the members of its userContexts
// do not see, with a head that is its own or stands for it. It appends nothing where
// none of its rules has a row, as Text.
func (m *Matcher) Print(b []byte, p *Printer, t *Target, head []byte, e *Event, form Form) ([]byte, error) {
	common, err := p.common(e.as(t), form)
	if err != nil {
		return nil, err
	}
	return m.text(b, t, head, e, common, form)
}

// Text appends an event as a target gets it: a head, its own or what stands for it,
// what Printer.Common made, and one snapshot row per distinct selection of its rules. It
// appends nothing when no rule has a row, because their userContexts may not see the
// asset; one that has left what they see has no row.
func (m *Matcher) Text(b []byte, t *Target, head []byte, e *Event, common []byte) []byte {
	b, _ = m.text(b, t, head, e, common, Whole) // only other forms have errors
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
