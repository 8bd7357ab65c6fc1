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
	PerKey  int           // of those, of one key; of the key nil any number
	Line    int           // waiting, of one key
	Waiting int           // in all; 0: any number
	Wait    time.Duration // the longest wait; 0: until the context ends
}

// Queue admits requests. It is safe for concurrent use; make it with New.
type Queue struct {
	bounds Bounds

	mu      sync.Mutex
	running int
	waiting int
	keys    map[any]*line
	turns   []*line // those with somebody waiting, the next one first
}

// line is what one key runs and who of it waits.
type line struct {
	key     any
	running int
	waiting []*ticket
}

type ticket struct {
	decided  chan struct{} // closed when it is admitted, or has to make room
	admitted bool          // set before that
	done     bool          // decided, or given up; under Queue.mu
}

// New returns a queue with nobody in it.
func New(b Bounds) *Queue { return &Queue{bounds: b, keys: map[any]*line{}} }

// Load returns how many requests run and how many wait.
func (q *Queue) Load() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.running, q.waiting
}

// Enter waits until a request of a comparable key may run. The caller calls
// leave, once, when it has run.
// Errors: fault.Transient when the line of the key is full, when too many wait
// in all, when the wait was too long, and when ctx ends.
func (q *Queue) Enter(ctx context.Context, key any) (leave func(), err error) {
	l, t, err := q.join(key)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if err := q.await(ctx, l, t); err != nil {
			return nil, err
		}
	}
	var once sync.Once
	return func() { once.Do(func() { q.leave(l) }) }, nil
}

// join admits a request at once, without a ticket, or puts it into the line of
// its key.
func (q *Queue) join(key any) (*line, *ticket, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.keys[key]
	if l == nil {
		l = &line{key: key}
		q.keys[key] = l
	}
	if len(l.waiting) == 0 && q.free(l) {
		q.admit(l)
		return l, nil, nil
	}
	if len(l.waiting) >= q.bounds.Line || !q.hasRoom(l) {
		q.forget(l)
		return nil, nil, errFull()
	}
	t := &ticket{decided: make(chan struct{})}
	if l.waiting = append(l.waiting, t); len(l.waiting) == 1 {
		q.turns = append(q.turns, l)
	}
	q.waiting++
	return l, t, nil
}

func errFull() error { return fault.Transientf(nil, "too many requests are waiting") }

// hasRoom reports whether one more may wait in a line. Where too many wait
// already, the last one of the longest line makes room for the first of a
// shorter one, so that those who ask for little are refused last.
func (q *Queue) hasRoom(l *line) bool {
	if q.bounds.Waiting == 0 || q.waiting < q.bounds.Waiting {
		return true
	}
	longest := l
	for _, other := range q.turns {
		if len(other.waiting) > len(longest.waiting) {
			longest = other
		}
	}
	n := len(longest.waiting)
	if n <= len(l.waiting)+1 {
		return false
	}
	last := longest.waiting[n-1]
	longest.waiting = longest.waiting[:n-1] // not the only one: its line stays in turn
	q.waiting--
	last.done = true
	close(last.decided)
	return true
}

func (q *Queue) free(l *line) bool {
	return q.running < q.bounds.Running && (l.running < q.bounds.PerKey || l.key == nil)
}

func (q *Queue) admit(l *line) {
	q.running++
	l.running++
}

// await waits for the ticket's turn.
func (q *Queue) await(ctx context.Context, l *line, t *ticket) error {
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
	if !q.giveUp(l, t) {
		if !t.admitted {
			return errFull()
		}
		return nil // admitted meanwhile
	}
	return fault.Transientf(ctx.Err(), "the server is busy")
}

// giveUp takes a ticket out of its line. It reports false when it was decided.
func (q *Queue) giveUp(l *line, t *ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if t.done {
		return false
	}
	t.done = true
	for i, other := range l.waiting {
		if other == t {
			l.waiting = append(l.waiting[:i], l.waiting[i+1:]...)
			break
		}
	}
	q.waiting--
	if len(l.waiting) == 0 {
		q.dropTurn(l)
	}
	q.forget(l)
	return true
}

// leave ends a running request and admits who may run now.
func (q *Queue) leave(l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	l.running--
	q.forget(l)
	q.next()
}

// next admits waiting requests, one of each line in turn, while any may run.
func (q *Queue) next() {
	for passed := 0; passed < len(q.turns) && q.running < q.bounds.Running; {
		l := q.turns[0]
		q.turns = q.turns[1:]
		if !q.free(l) {
			q.turns = append(q.turns, l)
			passed++
			continue
		}
		passed = 0
		t := l.waiting[0]
		l.waiting = l.waiting[1:]
		q.waiting--
		t.done, t.admitted = true, true
		q.admit(l)
		close(t.decided)
		if len(l.waiting) > 0 {
			q.turns = append(q.turns, l)
		}
	}
}

func (q *Queue) dropTurn(l *line) {
	for i, other := range q.turns {
		if other == l {
			q.turns = append(q.turns[:i], q.turns[i+1:]...)
			return
		}
	}
}

func (q *Queue) forget(l *line) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.keys, l.key)
	}
}
