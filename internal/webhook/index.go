package webhook

import (
	"context"
	"sync"

	"github.com/alds-dev/alds/internal/event"
)

// target is an enabled subscription as fan-out sees it.
type target struct {
	event.Target
	id        string
	maxEvents int // of one delivery
}

// index holds the rules of the enabled subscriptions. It is immutable.
type index struct {
	*event.Index
	generation int64 // read before the subscriptions were
	targets    map[*event.Target]*target
}

// newIndex compiles subscriptions. skipped is called for a definition that the
// model no longer knows.
func newIndex(e *event.Engine, generation int64, subscriptions []subscriptionRow, skipped func(id string, err error)) *index {
	x := &index{Index: e.NewIndex(), generation: generation, targets: map[*event.Target]*target{}}
	for i := range subscriptions {
		r := &subscriptions[i]
		t := &target{id: r.ID, maxEvents: maxEvents}
		t.Head, t.Since = headOf(r.WebhookID), r.SinceGeneration
		if r.MaxBatch > 0 {
			t.maxEvents = min(r.MaxBatch, maxEvents)
		}
		x.targets[&t.Target] = t
		for order := range r.EventTypes {
			if err := x.Add(&t.Target, order, &r.EventTypes[order]); err != nil {
				skipped(r.ID, err)
			}
		}
	}
	return x
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
	present := s
	if s.present != nil { // no older than that generation, which changes of the model raise, too
		if present, err = s.present(ctx); err != nil {
			return nil, err
		}
	}
	var rows []subscriptionRow
	if err := subscriptions(s.db.Gorm(ctx), enabled).Order("id").Find(&rows).Error; err != nil {
		return nil, err
	}
	c.now = newIndex(present.events, gen, rows, func(id string, err error) {
		s.log.Warn("event definition skipped", "subscription", id, "err", err)
	})
	return c.now, nil
}
