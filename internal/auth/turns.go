package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/fault"
)

// line is what a turn is wanted for.
type line uint8

// Logins of members go first. The other two share half of the turns, one after
// the other, so that neither a flood of names that nobody has nor a request
// that sets a thousand passwords keeps members out.
const (
	memberLine   line = iota // a login with the name of a member
	strangerLine             // a login with a name that nobody has
	sealLine                 // a new password
	lines
)

// Bounds of the lines.
const (
	maxMembersInLine   = 256             // logins of members that wait for a turn
	maxStrangersInLine = 64              // logins with names that nobody has
	maxNameInLine      = 64              // logins of one name
	membersInRow       = 3               // turns that members take while somebody else waits
	longestTurn        = 3 * time.Second // that a login waits for its turn; who waits longer had better come back
	lineRetry          = 2 * time.Second
)

// waiter stands in a line.
type waiter struct {
	line  line
	rank  int  // among members: the lower goes first
	who   key  // whose login it is, so that one alone never takes all turns
	decoy bool // takes no turn when it is reached

	ready chan struct{} // closed when it is its turn
	at    time.Time     // when that was
}

// turns shares the password checks that run at a time, each of which takes a
// core and 19 MiB. It is safe for concurrent use.
type turns struct {
	all, half int
	now       func() time.Time

	mu      sync.Mutex
	waiting [lines][]*waiter
	queued  map[key]int // waiting, by who
	busy    map[key]int // running, by who
	running [lines]int
	inRow   int  // turns that members have had since somebody else had one
	last    line // who of those that share a half had the last one
}

func newTurns(n int, now func() time.Time) *turns {
	return &turns{all: n, half: max(1, n/2), now: now, queued: make(map[key]int), busy: make(map[key]int)}
}

// take waits for a turn, which give ends. Errors: *SlowDownError when the line
// is full, and when a login has waited too long; fault.Transient when ctx ends.
func (t *turns) take(ctx context.Context, w *waiter) error {
	if !t.enter(w) {
		return &SlowDownError{After: lineRetry}
	}
	var late <-chan time.Time
	if w.line != sealLine {
		timer := time.NewTimer(longestTurn)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-w.ready:
		return nil
	case <-late:
		t.leave(w)
		return &SlowDownError{After: lineRetry}
	case <-ctx.Done():
		t.leave(w)
		return fault.Transientf(ctx.Err(), "too many logins at once")
	}
}

// decoy stands in the line of strangers without taking a turn there. It is nil
// when the line is full.
func (t *turns) decoy() *waiter {
	w := &waiter{line: strangerLine, decoy: true}
	if !t.enter(w) {
		return nil
	}
	return w
}

func (t *turns) enter(w *waiter) bool {
	w.ready = make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isFull(w) {
		return false
	}
	t.waiting[w.line] = append(t.waiting[w.line], w)
	t.queued[w.who]++
	t.serve()
	return true
}

func (t *turns) isFull(w *waiter) bool {
	n := len(t.waiting[w.line])
	switch w.line {
	case memberLine:
		return n >= maxMembersInLine || t.queued[w.who] >= maxNameInLine
	case strangerLine:
		return n >= maxStrangersInLine
	}
	return false
}

// leave takes w out of its line, or gives its turn back.
func (t *turns) leave(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[w.line], w); i >= 0 {
		t.remove(w.line, i)
	} else if !w.decoy {
		t.end(w)
	}
	t.serve()
}

// give ends a turn.
func (t *turns) give(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end(w)
	t.serve()
}

func (t *turns) end(w *waiter) {
	t.running[w.line]--
	count(t.busy, w.who, -1)
}

// serve gives the turns that are free to those that wait.
func (t *turns) serve() {
	for t.running[memberLine]+t.others() < t.all {
		l, i := t.next()
		if i < 0 {
			return
		}
		w := t.remove(l, i)
		if !w.decoy {
			t.running[l]++
			count(t.busy, w.who, 1)
		}
		w.at = t.now()
		close(w.ready)
	}
}

func (t *turns) others() int { return t.running[strangerLine] + t.running[sealLine] }

// next is the line and place of who is next, -1 for nobody.
func (t *turns) next() (line, int) {
	member := t.nextMember()
	other, l := t.nextOther()
	if member < 0 || other >= 0 && t.inRow >= membersInRow {
		if other >= 0 {
			t.inRow, t.last = 0, l
		}
		return l, other
	}
	t.inRow++
	return memberLine, member
}

// nextMember finds the lowest rank, and there who came first, of those of whom
// no other login takes half of the turns.
func (t *turns) nextMember() int {
	best := -1
	for i, w := range t.waiting[memberLine] {
		if t.busy[w.who] < t.half && (best < 0 || w.rank < t.waiting[memberLine][best].rank) {
			best = i
		}
	}
	return best
}

func (t *turns) nextOther() (int, line) {
	if t.others() >= t.half {
		return -1, strangerLine
	}
	first, second := strangerLine, sealLine
	if t.last == strangerLine {
		first, second = sealLine, strangerLine
	}
	for _, l := range []line{first, second} {
		if len(t.waiting[l]) > 0 {
			return 0, l
		}
	}
	return -1, strangerLine
}

func (t *turns) remove(l line, i int) *waiter {
	w := t.waiting[l][i]
	t.waiting[l] = slices.Delete(t.waiting[l], i, i+1)
	count(t.queued, w.who, -1)
	return w
}

// count adds to the number of who, and forgets who has none.
func count(m map[key]int, who key, by int) {
	if m[who] += by; m[who] == 0 {
		delete(m, who)
	}
}
