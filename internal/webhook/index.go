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

// wish is one compiled event definition.
type wish struct {
	target     *target
	order      int // among the definitions of its target
	from       string
	attributes map[string]bool // nil: any
	filter     []string
	with       map[string][]string
	member     int64 // stored id of userContext
	hasContext bool  // evaluated as member sees the data
	sel        []string
	memory     *memfilter.Filter // the filter and userContext, as far as memory can decide them; nil: not at all
	filterKey  string            // wishes with the same one match the same assets; empty: all match
	rowKey     string            // wishes with the same one share their snapshots
}

// index holds the wishes by what they can match. It is immutable.
type index struct {
	generation int64 // read before the subscriptions were
	targets    int
	created    map[*meta.Type][]*wish // by concrete type
	changed    map[*meta.Type][]*wish
	hops       memfilter.Relations // the relations that some filter follows
}

// newIndex compiles subscriptions. A definition the model no longer knows is
// skipped and reported.
func newIndex(m *meta.Model, generation int64, subscriptions []subscriptionRow, broken func(id string, err error)) *index {
	x := &index{
		generation: generation, targets: len(subscriptions),
		created: map[*meta.Type][]*wish{}, changed: map[*meta.Type][]*wish{},
		hops: memfilter.Relations{},
	}
	for i := range subscriptions {
		r := &subscriptions[i]
		name, err := json.Marshal(r.WebhookID)
		if err != nil {
			broken(r.ID, err)
			continue
		}
		t := &target{id: r.ID, webhookID: name, since: r.SinceGeneration, maxEvents: maxEvents}
		if r.MaxBatch > 0 {
			t.maxEvents = min(r.MaxBatch, maxEvents)
		}
		for order := range r.EventTypes {
			if err := x.add(m, t, order, &r.EventTypes[order]); err != nil {
				broken(r.ID, err)
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
	w := &wish{
		target: t, order: order, from: d.From, filter: d.Filter,
		with: d.variables(), sel: d.Select,
	}
	if d.UserContext != "" {
		o, err := oid.Parse(d.UserContext)
		if err != nil {
			return err
		}
		if member, ok := m.Type(o.Type); ok {
			w.member, w.hasContext = member.Stored(o.ID), true
		}
	}
	if len(w.filter) > 0 || w.hasContext {
		w.memory = memfilter.New(m, from, d.Filter, w.with, w.hasContext)
		w.filterKey = keyOf(d.From, d.Filter, d.With, d.UserContext)
	}
	w.rowKey = keyOf(d.Select, d.UserContext)
	if len(d.Select) > 0 {
		w.rowKey = keyOf(d.From, d.Select, d.UserContext)
	}
	by := x.created
	if d.Type == AssetChanged {
		by = x.changed
		if len(d.Attributes) > 0 {
			w.attributes = make(map[string]bool, len(d.Attributes))
			for _, a := range d.Attributes {
				w.attributes[a] = true
			}
		}
	}
	for _, leaf := range from.Concrete {
		by[leaf] = append(by[leaf], w)
	}
	if w.memory != nil {
		x.hops.Add(from, w.memory)
	}
	return nil
}

// keyOf names a combination of values of this package; they always marshal.
func keyOf(parts ...any) string {
	text, err := json.Marshal(parts)
	if err != nil {
		panic(fmt.Sprintf("webhook: key of %T: %v", parts, err))
	}
	return string(text)
}

// of returns the wishes that the version's type and kind of change can match.
func (x *index) of(v *change.Version) []*wish {
	if v.Created == v.Moment {
		return x.created[v.Type]
	}
	return x.changed[v.Type]
}

// wants reports whether the wish is for these changes, filters aside.
func (w *wish) wants(changes []change.Change) bool {
	if w.attributes == nil {
		return true
	}
	for i := range changes {
		if w.attributes[changes[i].Attr.Name] {
			return true
		}
	}
	return false
}

// cache keeps the index of the newest generation seen.
type cache struct {
	mu  sync.Mutex
	now *index
}

// index returns an index that holds every subscription whose write raised the
// generation to gen or less.
func (s *Service) index(ctx context.Context, c *cache, gen int64) (*index, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && c.now.generation >= gen {
		return c.now, nil
	}
	gen, err := generation(ctx, s.db) // before what it stands for
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
