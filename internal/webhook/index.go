package webhook

import (
	"context"
	"sync"

	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/memfilter"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/value"
)

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
		t := &target{id: r.ID, webhookID: value.AppendString(nil, r.WebhookID), since: r.SinceGeneration, maxEvents: maxEvents}
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

// add adds the rule of an event definition.
func (x *index) add(m *meta.Model, t *target, order int, d *Definition) error {
	from, ok := m.Type(d.From)
	if !ok {
		return errUnknownType(0, d.From)
	}
	r, err := newRule(m, from, t, order, d)
	if err != nil {
		return err
	}
	byType := x.created
	if d.Type == AssetChanged {
		byType = x.changed
	}
	for _, leaf := range from.Concrete {
		byType[leaf] = append(byType[leaf], r)
	}
	if r.memory != nil {
		x.relations.Add(from, r.memory)
	}
	return nil
}

// of returns the rules for the type of a version and for its kind of change.
func (x *index) of(v *change.Version) []*rule {
	if v.Created == v.Moment {
		return x.created[v.Type]
	}
	return x.changed[v.Type]
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
