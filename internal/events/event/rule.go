package event

import (
	"encoding/json"
	"fmt"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
)

// Target is a receiver of events. Its rules refer to it.
type Target struct {
	Head  []byte // first JSON members of each of its events, with a comma after each
	Since int64  // its rules do not match writes of an earlier generation
}

// Rule is one compiled event definition.
type Rule struct {
	Target     *Target
	order      int // position of the definition in its target
	from       string
	attributes map[string]bool // changed attributes that the rule is for; nil: all
	filter     []string
	with       map[string][]string
	member     int64 // stored id of the userContext's member
	hasContext bool  // there is a userContext: the rule uses only data that member sees
	sel        []string
	memory     *memfilter.Filter // the filter and userContext in memory; nil if every result is Unknown
	filterKey  string            // rules with the same key match the same assets; empty: all assets match
	rowKey     string            // rules with the same key have the same snapshots
}

// newRule compiles an event definition. from is the type that the definition names.
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

// isFor reports whether a rule is for at least one of the changes. It ignores filters.
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

// keyOf returns a key for some values of definitions and rules. It panics if they cannot be written
// as JSON, which does not happen.
func keyOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("event: key of %T: %v", parts, err))
	}
	return string(text)
}
