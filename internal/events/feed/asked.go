package feed

import (
	"sync"

	"github.com/alds-dev/alds/internal/events/event"
)

// maxAsked is the maximum number of compiled definitions in the cache.
const maxAsked = 256

// asked is the key of the cache: the definition of the events that a reader requests. The cache is
// useful because compiling a definition for all types takes longer than checking for new changes.
type asked struct {
	kind, from, attributes, filter, with, sel string

	all    bool  // true: the reader sees everything
	member int64 // stored id of the reader; 0: the reader sees everything
}

// rules is a compiled definition. It is read-only.
type rules struct {
	index  *event.Index
	target *event.Target
	codes  []int // codes of the types of assets that may match
}

// compiled caches the rules of a Service. It is safe for concurrent use.
type compiled struct {
	mu  sync.Mutex
	all map[asked]*rules
}

func (c *compiled) get(a asked) *rules {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[a]
}

// put stores rules. If the cache is full, it first removes arbitrary rules.
func (c *compiled) put(a asked, r *rules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.all {
		if len(c.all) < maxAsked {
			break
		}
		delete(c.all, other)
	}
	c.all[a] = r
}
