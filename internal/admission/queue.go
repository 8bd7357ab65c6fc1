package admission

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// Bounds are the limits of a Queue.
type Bounds struct {
	Running int           // at the same time, in all
	PerKey  int           // of one key; of the key nil any number
	Line    int           // waiting, of one key
	Waiting int           // in all; 0: any number
	Wait    time.Duration // the longest wait; 0: until the context ends
}

// Queue admits requests. It is safe for concurrent use; New returns one.
type Queue struct {
	bounds Bounds

	mu      sync.Mutex
	running int
	waiting int
	keys    map[any]*keyQueue
	turns   []*keyQueue // those with waiting requests, in the order in which they are served
}

// keyQueue is the requests of one key.
type keyQueue struct {
	key     any
	running int
	waiting []*ticket
}

type ticket struct {
	decided  chan struct{} // closed when it is admitted or refused
	admitted bool          // set before decided is closed
	done     bool          // decided, or canceled; under Queue.mu
}

// New returns an empty queue.
func New(b Bounds) *Queue { return &Queue{bounds: b, keys: map[any]*keyQueue{}} }

// Load returns how many requests run and how many wait.
func (q *Queue) Load() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}

// Enter waits until a request of a comparable key may run. The caller calls leave
// after it has run.
// Errors: fault.Transient when the queue of the key is full, when too many wait in
// all, when the wait was too long, and when ctx ends.
func (q *Queue) Enter(ctx context.Context, key any) (leave func(), err error) {
	k, t, err := q.join(key)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if err := q.await(ctx, k, t); err != nil {
			return nil, err
		}
	}
	var once sync.Once
	return func() { once.Do(func() { q.leave(k) }) }, nil
}

// join admits a request at once, without a ticket, or appends it to the queue of its
// key.
func (q *Queue) join(key any) (*keyQueue, *ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.keys[key]
	if k == nil {
		k = &keyQueue{key: key}
		q.keys[key] = k
	}
	if len(k.waiting) == 0 && q.free(k) {
		q.admit(k)
		return k, nil, nil
	}
	if len(k.waiting) >= q.bounds.Line || !q.hasRoom(k) {
		q.deleteIfEmpty(k)
		return nil, nil, errFull()
	}
	t := &ticket{decided: make(chan struct{})}
	if k.waiting = append(k.waiting, t); len(k.waiting) == 1 {
		q.turns = append(q.turns, k)
	}
	q.waiting++
	return k, t, nil
}

func errFull() error { return fault.Transientf(nil, "too many requests are waiting") }

// hasRoom reports whether one more may wait in a queue. Where too many wait, the last
// request of the longest queue is refused to make room in a shorter one, so that
// keys with few requests are refused last.
func (q *Queue) hasRoom(k *keyQueue) bool {
	if q.bounds.Waiting == 0 || q.waiting < q.bounds.Waiting {
		return true
	}
	longest := k
	for _, other := range q.turns {
		if len(other.waiting) > len(longest.waiting) {
			longest = other
		}
	}
	n := len(longest.waiting)
	if n <= len(k.waiting)+1 {
		return false
	}
	last := longest.waiting[n-1]
	longest.waiting = longest.waiting[:n-1] // not the only one: its queue stays in turns
	q.waiting--
	last.done = true
	close(last.decided)
	return true
}

func (q *Queue) free(k *keyQueue) bool {
	return q.running < q.bounds.Running && (k.running < q.bounds.PerKey || k.key == nil)
}

func (q *Queue) admit(k *keyQueue) {
	q.running++
	k.running++
}

// await waits until the ticket is decided.
func (q *Queue) await(ctx context.Context, k *keyQueue, t *ticket) error {
	var late <-chan time.Time
	if q.bounds.Wait > 0 {
		timer := time.NewTimer(q.bounds.Wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.decided:
		if !t.admitted {
			return errFull()
		}
		return nil
	case <-late:
	case <-ctx.Done():
	}
	if !q.cancel(k, t) { // decided meanwhile
		if !t.admitted {
			return errFull()
		}
		return nil
	}
	return fault.Transientf(ctx.Err(), "the server is busy")
}

// cancel removes a ticket from its queue. It reports false when it was decided.
func (q *Queue) cancel(k *keyQueue, t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done {
		return false
	}
	t.done = true
	for i, other := range k.waiting {
		if other == t {
			k.waiting = append(k.waiting[:i], k.waiting[i+1:]...)
			break
		}
	}
	q.waiting--
	if len(k.waiting) == 0 {
		q.dropTurn(k)
	}
	q.deleteIfEmpty(k)
	return true
}

// leave ends a running request and admits who may run now.
func (q *Queue) leave(k *keyQueue) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	k.running--
	q.deleteIfEmpty(k)
	q.next()
}

// next admits waiting requests, one of each queue in turn, while any may run.
func (q *Queue) next() {
	for passed := 0; passed < len(q.turns) && q.running < q.bounds.Running; {
		k := q.turns[0]
		q.turns = q.turns[1:]
		if !q.free(k) {
			q.turns = append(q.turns, k)
			passed++
			continue
		}
		passed = 0
		t := k.waiting[0]
		k.waiting = k.waiting[1:]
		q.waiting--
		t.done, t.admitted = true, true
		q.admit(k)
		close(t.decided)
		if len(k.waiting) > 0 {
			q.turns = append(q.turns, k)
		}
	}
}

func (q *Queue) dropTurn(k *keyQueue) {
	for i, other := range q.turns {
		if other == k {
			q.turns = append(q.turns[:i], q.turns[i+1:]...)
			return
		}
	}
}

func (q *Queue) deleteIfEmpty(k *keyQueue) {
	if k.running == 0 && len(k.waiting) == 0 {
		delete(q.keys, k.key)
	}
}
