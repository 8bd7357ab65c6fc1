package admission

import (
	"context"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Bounds are the limits of a Queue.
type Bounds struct {
	Running int           // requests that run at the same time
	Recent  int           // running requests that were admitted within the last RecentFor; 0: any number
	PerKey  int           // running requests of one key; the key nil has no limit
	Line    int           // waiting requests of one key
	Waiting int           // all waiting requests; 0: any number
	Wait    time.Duration // longest wait of a request; 0: until its context ends

	RecentFor time.Duration // how long a request counts as recent
}

// Queue admits requests. It is safe for concurrent use. New returns a Queue.
type Queue struct {
	bounds Bounds

	mu      sync.Mutex
	running int
	recent  int
	waiting int
	keys    map[any]*keyQueue
	turns   []*keyQueue // keys with waiting requests, in round-robin order
	fewest  bool        // true: the next turn belongs to the key with the fewest requests; false: to the first key in turns
}

// keyQueue counts the running requests of one key, and holds its waiting requests.
type keyQueue struct {
	key     any
	running int
	waiting []*ticket
}

// ticket is a waiting request.
type ticket struct {
	queue    *keyQueue
	decided  chan struct{} // closed when the request is admitted or refused
	admitted *run          // set before decided is closed; nil: refused
	done     bool          // true: admitted, refused or canceled; guarded by Queue.mu
}

// run is an admitted request.
type run struct {
	queue  *keyQueue
	recent bool        // true: the request counts in Queue.recent; guarded by Queue.mu
	timer  *time.Timer // sets recent to false after RecentFor; nil: recent requests are not limited
}

// New returns an empty queue.
func New(b Bounds) *Queue { return &Queue{bounds: b, keys: map[any]*keyQueue{}} }

// Load returns how many requests run and how many wait.
func (q *Queue) Load() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}

// Enter waits until a request of a key may run. The key must be comparable. The caller must call
// leave when the request has ended.
//
// Enter returns an error of the kind fault.Transient when too many requests of the key wait, when
// too many requests wait in total, when the wait was too long, or when ctx ends.
func (q *Queue) Enter(ctx context.Context, key any) (leave func(), err error) {
	r, t, err := q.join(key)
	if err == nil && r == nil {
		r, err = q.await(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	var once sync.Once
	return func() { once.Do(func() { q.leave(r) }) }, nil
}

// join admits a request at once and returns its run, or puts the request into the queue of its key
// and returns a ticket. It returns an error if the request may not wait.
func (q *Queue) join(key any) (*run, *ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	k := q.keys[key]
	if k == nil {
		k = &keyQueue{key: key}
		q.keys[key] = k
	}
	if len(k.waiting) == 0 && q.free(k) {
		return q.admit(k), nil, nil
	}
	if len(k.waiting) >= q.bounds.Line || !q.hasRoom(k) {
		q.deleteIfEmpty(k)
		return nil, nil, errFull()
	}
	t := &ticket{queue: k, decided: make(chan struct{})}
	if k.waiting = append(k.waiting, t); len(k.waiting) == 1 {
		q.turns = append(q.turns, k)
	}
	q.waiting++
	return nil, t, nil
}

func errFull() error { return fault.Transientf(nil, "too many requests are waiting") }

// hasRoom reports whether one more request may wait in the queue k. If too many requests wait in
// total, hasRoom refuses the last request of the longest queue to make room in a shorter queue. So
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
	longest.waiting = longest.waiting[:n-1] // other requests of this key still wait, so the key stays in turns
	q.waiting--
	last.done = true
	close(last.decided)
	return true
}

func (q *Queue) free(k *keyQueue) bool {
	return q.open() && (k.running < q.bounds.PerKey || k.key == nil)
}

// open reports whether a request of any key may run.
func (q *Queue) open() bool {
	return q.running < q.bounds.Running && (q.bounds.Recent == 0 || q.recent < q.bounds.Recent)
}

func (q *Queue) admit(k *keyQueue) *run {
	q.running++
	k.running++
	r := &run{queue: k}
	if q.bounds.Recent > 0 {
		q.recent++
		r.recent = true
		r.timer = time.AfterFunc(q.bounds.RecentFor, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.ages(r)
			q.next()
		})
	}
	return r
}

// ages stops counting a request as recent.
func (q *Queue) ages(r *run) {
	if r.recent {
		q.recent--
		r.recent = false
	}
}

// await waits until the ticket is decided, and returns the admitted request or an error.
func (q *Queue) await(ctx context.Context, t *ticket) (*run, error) {
	var late <-chan time.Time
	if q.bounds.Wait > 0 {
		timer := time.NewTimer(q.bounds.Wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-t.decided:
	case <-late:
	case <-ctx.Done():
	}
	switch {
	case q.cancel(t):
		return nil, fault.Transientf(ctx.Err(), "the server is busy")
	case t.admitted == nil:
		return nil, errFull()
	}
	return t.admitted, nil
}

// cancel removes a ticket from its queue. It returns false if the ticket was already decided.
func (q *Queue) cancel(t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done {
		return false
	}
	t.done = true
	k := t.queue
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

// leave ends a running request and admits waiting requests that may run now.
func (q *Queue) leave(r *run) {
	if r.timer != nil {
		r.timer.Stop()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ages(r)
	q.running--
	r.queue.running--
	q.deleteIfEmpty(r.queue)
	q.next()
}

// next admits waiting requests until no further request may run. The turns alternate between round
// robin and the key with the fewest requests.
func (q *Queue) next() {
	for q.open() {
		k := q.nextKey()
		if k == nil {
			return
		}
		t := k.waiting[0]
		k.waiting = k.waiting[1:]
		q.waiting--
		q.dropTurn(k)
		if len(k.waiting) > 0 {
			q.turns = append(q.turns, k)
		}
		t.done, t.admitted = true, q.admit(k)
		close(t.decided)
	}
}

// nextKey returns the queue whose first request runs next, or nil if no waiting request may run.
func (q *Queue) nextKey() *keyQueue {
	var found *keyQueue
	for _, k := range q.turns {
		switch {
		case !q.free(k):
		case found == nil, k.size() < found.size():
			found = k
		}
		if found != nil && !q.fewest {
			break
		}
	}
	q.fewest = !q.fewest
	return found
}

// size returns the number of running and waiting requests of the key.
func (k *keyQueue) size() int { return k.running + len(k.waiting) }

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
