package webhook

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/alds-dev/alds/internal/events/event"
)

// target is an enabled subscription as fan-out sees it.
type target struct {
	event.Target
	id        string
	maxEvents int    // of one delivery, as it is made
	ordered   bool   // the events of each asset come in order
	group     *group // nil: nobody has the same definitions
}

// group is subscriptions with the same definitions and bounds, which get the same
// events but for their heads.
type group struct{ head int } // the bytes of the longest head

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
		if r.Ordered {
			t.ordered, t.maxEvents = true, 1 // those that go together are put together when they are sent
		}
		x.targets[&t.Target] = t
		for order := range r.EventTypes {
			if err := x.Add(&t.Target, order, &r.EventTypes[order]); err != nil {
				skipped(r.ID, err)
			}
		}
	}
	x.findGroups(subscriptions)
	return x
}

// key is that of the batch that a subscription gets next.
func (t *target) key() any {
	if t.group != nil {
		return t.group
	}
	return t
}

// alike puts those together that are in a group.
func (x *index) alike(all []*event.Target) [][]*target {
	found := make([][]*target, 0, len(all))
	groups := map[*group]int{}
	for _, one := range all {
		t := x.targets[one]
		if i, ok := groups[t.group]; ok {
			found[i] = append(found[i], t)
			continue
		}
		if t.group != nil {
			groups[t.group] = len(found)
		}
		found = append(found, []*target{t})
	}
	return found
}

// findGroups puts subscriptions with the same definitions into groups.
func (x *index) findGroups(subscriptions []subscriptionRow) {
	same := map[string][]*target{}
	definitions := map[string][]Definition{}
	for i := range subscriptions {
		definitions[subscriptions[i].ID] = subscriptions[i].EventTypes
	}
	for _, t := range x.targets {
		text, err := json.Marshal(definitions[t.id])
		if err == nil {
			key := strconv.Itoa(t.maxEvents) + strconv.FormatBool(t.ordered) + string(text)
			same[key] = append(same[key], t)
		}
	}
	for _, all := range same {
		if len(all) == 1 {
			continue
		}
		g := &group{}
		for _, t := range all {
			t.group, g.head = g, max(g.head, len(t.Head))
		}
	}
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
