package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/memfilter"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// target is an enabled subscription as fan-out sees it.
type target struct {
	id        string
	webhookID []byte // as JSON
	since     int64  // writes of an earlier generation are not for it
	maxEvents int    // of one delivery
}

// rule is one compiled event definition.
type rule struct {
	target     *target
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

// index holds the rules by the types of assets they can match. It is immutable.
type index struct {
	generation int64 // read before the subscriptions were
	targets    int
	created    map[*meta.Type][]*rule // by concrete type
	changed    map[*meta.Type][]*rule
	relations  memfilter.Relations // those that filters follow
}

// newIndex compiles subscriptions. skipped is called for a definition that the
// model no longer knows.
func newIndex(m *meta.Model, generation int64, subscriptions []subscriptionRow, skipped func(id string, err error)) *index {
	x := &index{
		generation: generation, targets: len(subscriptions),
		created: map[*meta.Type][]*rule{}, changed: map[*meta.Type][]*rule{},
		relations: memfilter.Relations{},
	}
	for i := range subscriptions {
		r := &subscriptions[i]
		name, err := json.Marshal(r.WebhookID)
		if err != nil {
			skipped(r.ID, err)
			continue
		}
		t := &target{id: r.ID, webhookID: name, since: r.SinceGeneration, maxEvents: maxEvents}
		if r.MaxBatch > 0 {
			t.maxEvents = min(r.MaxBatch, maxEvents)
		}
		for order := range r.EventTypes {
			if err := x.add(m, t, order, &r.EventTypes[order]); err != nil {
				skipped(r.ID, err)
			}
		}
	}
	return x
}

func (x *index) add(m *meta.Model, t *target, order int, d *Definition) error {
	from, ok := m.Type(d.From)
	if !ok {
		return errUnknownType(0, d.From)
	}
	r := &rule{
		target: t, order: order, from: d.From, filter: d.Filter,
		with: d.variables(), sel: d.Select,
	}
	if d.UserContext != "" {
		o, err := oid.Parse(d.UserContext)
		if err != nil {
			return err
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
	by := x.created
	if d.Type == AssetChanged {
		by = x.changed
		if len(d.Attributes) > 0 {
			r.attributes = make(map[string]bool, len(d.Attributes))
			for _, a := range d.Attributes {
				r.attributes[a] = true
			}
		}
	}
	for _, leaf := range from.Concrete {
		by[leaf] = append(by[leaf], r)
	}
	if r.memory != nil {
		x.relations.Add(from, r.memory)
	}
	return nil
}

// keyOf returns a key of values of this package; they always marshal.
func keyOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("webhook: key of %T: %v", parts, err))
	}
	return string(text)
}

// of returns the rules for the type of a version and for its kind of change.
func (x *index) of(v *change.Version) []*rule {
	if v.Created == v.Moment {
		return x.created[v.Type]
	}
	return x.changed[v.Type]
}

// isFor reports whether a rule is for these changes. It ignores filters.
func (r *rule) isFor(changes []change.Change) bool {
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

// cache holds the index of the newest generation read.
type cache struct {
	mu  sync.Mutex
	now *index
}

// index returns an index with each subscription that was written at generation
// gen or earlier.
func (s *Service) index(ctx context.Context, c *cache, gen int64) (*index, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && c.now.generation >= gen {
		return c.now, nil
	}
	gen, err := generation(ctx, s.db) // before the subscriptions
	if err != nil {
		return nil, err
	}
	var rows []subscriptionRow
	if err := subscriptions(s.db.Gorm(ctx), enabled).Order("id").Find(&rows).Error; err != nil {
		return nil, err
	}
	c.now = newIndex(s.model, gen, rows, func(id string, err error) {
		s.log.Warn("event definition skipped", "subscription", id, "err", err)
	})
	return c.now, nil
}
