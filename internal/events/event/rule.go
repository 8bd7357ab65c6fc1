package event

import (
	"encoding/json"
	"fmt"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Target is a receiver of events. Each rule refers to its target.
type Target struct {
	Head  []byte // first JSON members of each event for this target, with a comma after each
	Since int64  // rules of this target do not match writes of an earlier generation
}

// Rule is one compiled event definition.
type Rule struct {
	Target     *Target
	order      int // position of the definition in its target
	from       string
	attributes map[string]bool // names of the changed attributes that the rule is for; nil: all attributes
	filter     []string
	with       map[string][]string
	member     int64 // stored id of the member in the userContext
	hasContext bool  // true: there is a userContext, and the rule uses only data that its member sees
	sel        []string
	memory     *memfilter.Filter // evaluates the filter and the userContext in memory; nil: this is not possible
	filterKey  string            // rules with the same key match the same assets; empty: the rule matches all assets
	rowKey     string            // rules with the same key have the same snapshots
}

// newRule compiles an event definition. The parameter from is the type in the definition.
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

// isFor reports whether a rule is for at least one of the changes. It does not evaluate filters.
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

// keyOf returns a key for values of definitions and rules. It panics if the values cannot be
// written as JSON, which does not happen with these values.
func keyOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("event: key of %T: %v", parts, err))
	}
	return string(text)
}
