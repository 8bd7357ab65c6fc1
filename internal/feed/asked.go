package feed

import (
	"sync"

	"github.com/alds-dev/alds/internal/event"
)

// maxAsked bounds the definitions that stay compiled: as many as requests can wait.
const maxAsked = 256

// asked is a definition of which events a reader wants. Compiling one for all types
// takes longer than looking whether there is anything new.
type asked struct {
	kind, from, attributes, filter, with, sel string

	all    bool  // the reader sees everything
	member int64 // stored id, where not
}

// rules are an asked definition, compiled. They are not changed any more.
type rules struct {
	index  *event.Index
	target *event.Target
	codes  []int // of the types that can match
}

// compiled keeps the rules of a Service. It is safe for concurrent use.
type compiled struct {
	mu  sync.Mutex
	all map[asked]*rules
}

func (c *compiled) get(a asked) *rules {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[a]
}

// put keeps rules; where there are too many, any others go.
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
