package auth

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// queue identifies one of the queues for hash slots.
type queue uint8

// The queues. Logins of members have priority. The other two queues alternate, and use at most
// half of the slots together. So neither many unknown usernames nor a request that sets a
// thousand passwords can block members.
const (
	memberQueue  queue = iota // logins of members
	unknownQueue              // logins with unknown usernames
	hashQueue                 // new passwords
	queues
)

// Limits of the queues.
const (
	maxMembersQueued   = 256             // waiting logins of all members
	maxUnknownQueued   = 64              // waiting logins with unknown usernames
	maxQueuedPerMember = 64              // waiting logins of one member
	memberShare        = 3               // slots that members get in a row while another queue waits
	maxQueueWait       = 3 * time.Second // longest wait of a login
	queueRetry         = 2 * time.Second // SlowDownError.After of a refused login
)

// waiter is an entry of a queue.
type waiter struct {
	queue   queue
	rank    int  // in memberQueue the lowest rank comes first
	account key  // account of the login; in memberQueue an account has at most hashSlots.shared slots
	decoy   bool // occupies no slot when its turn comes

	ready      chan struct{} // closed when the waiter gets its slot or is refused
	refused    bool          // true: another login got its place; set before ready is closed
	acquiredAt time.Time     // when the waiter got its slot
}

// hashSlots limits the number of concurrent password hashes. Each hash uses one core and 19 MiB.
// It is safe for concurrent use.
type hashSlots struct {
	size   int           // number of slots
	shared int           // maximum number of slots for unknownQueue and hashQueue together, and for one account
	wait   time.Duration // longest wait of a login
	now    func() time.Time

	mu        sync.Mutex
	waiting   [queues][]*waiter
	queued    map[key]int // key: account; value: number of its waiters
	active    map[key]int // key: account; value: number of slots that it occupies
	served    map[key]int // key: account with waiters; value: the field slots when the account got its last slot
	slots     int         // number of slots that were assigned so far
	used      [queues]int // number of occupied slots of each queue
	memberRun int         // number of slots that members got since another queue got a slot
	last      queue       // unknownQueue or hashQueue: the one that got the latest slot
}

func newHashSlots(n int, now func() time.Time) *hashSlots {
	return &hashSlots{
		size: n, shared: max(1, n/2), wait: maxQueueWait, now: now,
		queued: make(map[key]int), active: make(map[key]int), served: make(map[key]int),
	}
}

// acquire waits for a slot. Errors: *SlowDownError if the queue is full, if another login got the
// place of w, or if a login has waited for t.wait; fault.Transient if ctx ends.
func (t *hashSlots) acquire(ctx context.Context, w *waiter) error {
	if !t.enqueue(w) {
		return &SlowDownError{After: queueRetry}
	}
	var late <-chan time.Time
	if w.queue != hashQueue {
		timer := time.NewTimer(t.wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-w.ready:
		if w.refused {
			return &SlowDownError{After: queueRetry}
		}
		return nil
	case <-late:
		t.cancel(w)
		return &SlowDownError{After: queueRetry}
	case <-ctx.Done():
		t.cancel(w)
		return fault.Transientf(ctx.Err(), "too many logins at once")
	}
}

// decoy adds a waiter to unknownQueue that occupies no slot. The channel ready of the waiter is
// closed when a login with an unknown username would get a slot. decoy returns nil if the queue is
// full.
func (t *hashSlots) decoy() *waiter {
	w := &waiter{queue: unknownQueue, decoy: true}
	if !t.enqueue(w) {
		return nil
	}
	return w
}

func (t *hashSlots) enqueue(w *waiter) bool {
	w.ready = make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isFull(w) && !t.makeRoom(w) {
		return false
	}
	t.waiting[w.queue] = append(t.waiting[w.queue], w)
	t.queued[w.account]++
	t.assign()
	return true
}

func (t *hashSlots) isFull(w *waiter) bool {
	n := len(t.waiting[w.queue])
	switch w.queue {
	case memberQueue:
		return n >= maxMembersQueued || t.queued[w.account] >= maxQueuedPerMember
	case unknownQueue:
		return n >= maxUnknownQueued
	}
	return false
}

// makeRoom makes room for a login in a full queue of members. It refuses the last login of the
// account with the most waiters, if that account has at least two waiters more than the account
// of w. Logins that guess the passwords of a few members therefore only displace each other.
func (t *hashSlots) makeRoom(w *waiter) bool {
	own := t.queued[w.account]
	if w.queue != memberQueue || own >= maxQueuedPerMember {
		return false
	}
	last := -1
	for i, other := range t.waiting[memberQueue] {
		if last < 0 || t.queued[other.account] >= t.queued[t.waiting[memberQueue][last].account] {
			last = i
		}
	}
	if t.queued[t.waiting[memberQueue][last].account] <= own+1 {
		return false
	}
	out := t.remove(memberQueue, last)
	out.refused = true
	close(out.ready)
	return true
}

// cancel removes w from its queue, or releases its slot if it already has one.
func (t *hashSlots) cancel(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[w.queue], w); i >= 0 {
		t.remove(w.queue, i)
	} else if !w.decoy && !w.refused {
		t.free(w)
	}
	t.assign()
}

// release releases a slot.
func (t *hashSlots) release(w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free(w)
	t.assign()
}

func (t *hashSlots) free(w *waiter) {
	t.used[w.queue]--
	count(t.active, w.account, -1)
}

// assign assigns the free slots to waiters.
func (t *hashSlots) assign() {
	for t.used[memberQueue]+t.nonMembers() < t.size {
		l, i := t.next()
		if i < 0 {
			return
		}
		w := t.remove(l, i)
		if !w.decoy {
			t.used[l]++
			count(t.active, w.account, 1)
			t.slots++
			if t.queued[w.account] > 0 {
				t.served[w.account] = t.slots
			}
		}
		w.acquiredAt = t.now()
		close(w.ready)
	}
}

func (t *hashSlots) nonMembers() int { return t.used[unknownQueue] + t.used[hashQueue] }

// next returns the queue of the next waiter and its index in the queue; -1: no waiter.
func (t *hashSlots) next() (queue, int) {
	member := t.nextMember()
	other, l := t.nextOther()
	if member < 0 || other >= 0 && t.memberRun >= memberShare {
		if other >= 0 {
			t.memberRun, t.last = 0, l
		}
		return l, other
	}
	t.memberRun++
	return memberQueue, member
}

// nextMember returns the index of the next waiter in memberQueue; -1: none. It is the waiter with
// the lowest rank. Among equal ranks, it is the waiter whose account got its last slot earliest.
// Accounts that already have t.shared slots are skipped.
func (t *hashSlots) nextMember() int {
	best := -1
	for i, w := range t.waiting[memberQueue] {
		if t.active[w.account] < t.shared && (best < 0 || t.before(w, t.waiting[memberQueue][best])) {
			best = i
		}
	}
	return best
}

func (t *hashSlots) before(w, other *waiter) bool {
	if w.rank != other.rank {
		return w.rank < other.rank
	}
	return t.served[w.account] < t.served[other.account]
}

func (t *hashSlots) nextOther() (int, queue) {
	if t.nonMembers() >= t.shared {
		return -1, unknownQueue
	}
	first, second := unknownQueue, hashQueue
	if t.last == unknownQueue {
		first, second = hashQueue, unknownQueue
	}
	for _, l := range []queue{first, second} {
		if len(t.waiting[l]) > 0 {
			return 0, l
		}
	}
	return -1, unknownQueue
}

func (t *hashSlots) remove(l queue, i int) *waiter {
	w := t.waiting[l][i]
	t.waiting[l] = slices.Delete(t.waiting[l], i, i+1)
	if count(t.queued, w.account, -1); t.queued[w.account] == 0 {
		delete(t.served, w.account)
	}
	return w
}

// count adds the parameter by to the number of an account in m. A number that becomes zero is deleted.
func count(m map[key]int, account key, by int) {
	if m[account] += by; m[account] == 0 {
		delete(m, account)
	}
}
