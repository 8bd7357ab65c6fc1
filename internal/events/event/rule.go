package event

import (
	"encoding/json"
	"fmt"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Target is who gets the events of some rules.
type Target struct {
	Head  []byte // members of each of its events before the common ones, as JSON with a comma behind each
	Since int64  // writes of an earlier generation are not for it
}

// Rule is one compiled event definition.
type Rule struct {
	Target     *Target
	order      int // among the definitions of its target
	from       string
	attributes map[string]bool // nil: any
	filter     []string
	with       map[string][]string
	member     int64 // stored id of userContext
	hasContext bool  // evaluated as member sees the data
	sel        []string
	memory     *memfilter.Filter // the filter and userContext; nil when memory decides nothing
	filterKey  string            // rules with the same one match the same assets; empty: all match
	rowKey     string            // rules with the same one share their snapshots
}

// newRule compiles an event definition over the type from.
func newRule(m *meta.Model, from *meta.Type, t *Target, order int, d *Definition) (*Rule, error) {
	r := &Rule{Target: t, order: order, from: d.From, filter: d.Filter, with: d.Variables(), sel: d.Select}
	if d.UserContext != "" {
		o, err := oid.Parse(d.UserContext)
		if err != nil {
			return nil, err
		}
		if member, ok := m.Type(o.Type); ok {
			r.member, r.hasContext = member.Stored(o.ID), true
		}
	}
	if len(r.filter) > 0 || r.hasContext {
		r.memory = memfilter.New(m, from, d.Filter, r.with, r.hasContext)
		r.filterKey = keyOf(d.From, d.Filter, d.With, d.UserContext)
	}
	r.rowKey = keyOf(d.Select, d.UserContext)
	if len(d.Select) > 0 {
		r.rowKey = keyOf(d.From, d.Select, d.UserContext)
	}
	if d.Type == AssetChanged && len(d.Attributes) > 0 {
		r.attributes = make(map[string]bool, len(d.Attributes))
		for _, a := range d.Attributes {
			r.attributes[a] = true
		}
	}
	return r, nil
}

// isFor reports whether a rule is for these changes. It ignores filters.
func (r *Rule) isFor(changes []change.Change) bool {
	if r.attributes == nil {
		return true
	}
	for i := range changes {
		if r.attributes[changes[i].Attr.Name] {
			return true
		}
	}
	return false
}

// keyOf returns a key of values of this package; they always marshal.
func keyOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("event: key of %T: %v", parts, err))
	}
	return string(text)
}
