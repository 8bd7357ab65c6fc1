package db

import (
	"context"
	"slices"
	"sync"
)

// turnQueue lets one write run at a time. Members take turns, and the writes of one member run
// in the order in which they were sent.
type turnQueue struct {
	mu      sync.Mutex
	taken   bool
	waiting []*turnLine // of each member, in the order of the turns
}

// turnLine is the queue of one member's writes, in the order of their arrival.
type turnLine struct {
	member any
	writes []chan struct{}
}

// take waits for the turn of a member's write. Errors: that of the context.
func (q *turnQueue) take(ctx context.Context) error {
	q.mu.Lock()
	if !q.taken {
		q.taken = true
		q.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	q.wait(memberOf(ctx), mine)
	q.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.cancel(memberOf(ctx), mine) { // the turn has just come
		return nil
	}
	return ctx.Err()
}

func (q *turnQueue) wait(member any, mine chan struct{}) {
	for _, line := range q.waiting {
		if line.member == member {
			line.writes = append(line.writes, mine)
			return
		}
	}
	q.waiting = append(q.waiting, &turnLine{member, []chan struct{}{mine}})
}

// cancel removes a waiting write. It returns false if the write no longer waits.
func (q *turnQueue) cancel(member any, mine chan struct{}) bool {
	for i, line := range q.waiting {
		at := slices.Index(line.writes, mine)
		if line.member != member || at < 0 {
			continue
		}
		if line.writes = slices.Delete(line.writes, at, at+1); len(line.writes) == 0 {
			q.waiting = slices.Delete(q.waiting, i, i+1)
		}
		return true
	}
	return false
}

// next starts the next waiting turn. It returns false if no write waits. q.mu is held.
func (q *turnQueue) next() bool {
	if len(q.waiting) == 0 {
		return false
	}
	line := q.waiting[0]
	close(line.writes[0])
	line.writes, q.waiting = line.writes[1:], q.waiting[1:]
	if len(line.writes) > 0 {
		q.waiting = append(q.waiting, line)
	}
	return true
}

// pass starts the next waiting turn, if there is one.
func (q *turnQueue) pass() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.next()
}

// end ends a turn without passing it on to a certain write.
func (q *turnQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = q.next()
}
