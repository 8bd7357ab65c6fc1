package webhook

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/alds-dev/alds/internal/events/event"
)

// target is an enabled subscription, in the form that the fan-out uses.
type target struct {
	event.Target
	id        string
	maxEvents int    // maximum number of events that the fan-out puts into one delivery
	ordered   bool   // true: the events of each asset are sent in order
	group     *group // subscriptions with the same definitions; nil: no other subscription has the same definitions
}

// group is a set of subscriptions with the same definitions and options. The events that they get
// differ only in their heads.
type group struct{ head int } // size of the longest head in bytes

// index contains the rules of the enabled subscriptions. It is immutable.
type index struct {
	*event.Index
	generation int64 // generation of subscriptions; it was read before the subscriptions
	targets    map[*event.Target]*target
}

// newIndex compiles subscriptions. It calls skipped for each definition that contains a name that
// the model no longer has.
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
			t.ordered, t.maxEvents = true, 1 // the sender merges deliveries of one asset
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

// key returns the key of the target in the map of open batches in Worker.batch.
func (t *target) key() any {
	if t.group != nil {
		return t.group
	}
	return t
}

// alike divides targets into lists. The targets of one list get the same events, except for the
// heads. A list contains the targets of one group, or a single target without a group.
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

// findGroups puts subscriptions with the same definitions and options into groups.
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

// cache contains the index of the newest generation that was read.
type cache struct {
	mu  sync.Mutex
	now *index
}

// index returns an index of all enabled subscriptions. It includes at least all changes of
// subscriptions up to the generation gen.
func (s *Service) index(ctx context.Context, c *cache, gen int64) (*index, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && c.now.generation >= gen {
		return c.now, nil
	}
	gen, err := generation(ctx, s.db) // read before the subscriptions, so that it is not newer than they are
	if err != nil {
		return nil, err
	}
	present := s
	if s.present != nil { // read after gen: every change of the model raises the generation, so this model is not older
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
