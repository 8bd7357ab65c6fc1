package auth

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// hashing is how long a slot is occupied in these tests.
const hashing = 10 * time.Millisecond

// slotTest records the order in which waiters get their slots, within a synctest bubble.
type slotTest struct {
	*hashSlots
	wg sync.WaitGroup

	mu    sync.Mutex
	order []int
}

func newSlotTest(n int) *slotTest { return &slotTest{hashSlots: newHashSlots(n, time.Now)} }

// arrive queues a waiter, which occupies its slot for as long as the constant hashing says. When
// arrive returns, the waiter is in its queue or has its slot.
func (d *slotTest) arrive(n int, w *waiter) {
	d.wg.Go(func() {
		if err := d.acquire(context.Background(), w); err != nil {
			return
		}
		d.mu.Lock()
		d.order = append(d.order, n)
		d.mu.Unlock()
		time.Sleep(hashing)
		d.release(w)
	})
	synctest.Wait()
}

func TestHashSlots(t *testing.T) {
	member := func(who, rank int) *waiter { return &waiter{queue: memberQueue, rank: rank, account: pairOf(who)} }
	stranger := func() *waiter { return &waiter{queue: unknownQueue} }
	seal := func() *waiter { return &waiter{queue: hashQueue} }
	for _, c := range []struct {
		why   string
		turns int
		come  []*waiter
		want  []int // indexes in come, in the order of their slots
	}{
		{"strangers leave half of the turns to members", 2, []*waiter{stranger(), stranger(), stranger(), member(1, 0), member(2, 0)}, []int{0, 3, 4, 1, 2}},
		{"new passwords and strangers take turns in one half", 2, []*waiter{seal(), seal(), seal(), stranger(), stranger(), member(1, 0)}, []int{0, 5, 3, 1, 4, 2}},
		{"members leave a turn in four", 2, []*waiter{member(1, 0), member(2, 0), member(3, 0), member(4, 0), member(5, 0), member(6, 0), seal()}, []int{0, 1, 2, 6, 3, 4, 5}},
		{"so they do where one runs at a time", 1, []*waiter{stranger(), stranger(), member(1, 0), member(2, 0), member(3, 0), member(4, 0)}, []int{0, 2, 3, 4, 1, 5}},
		{"who has had fewer wrong ones goes first", 2, []*waiter{member(1, 0), member(2, 0), member(3, 4), member(4, 4), member(5, 0), member(6, -1)}, []int{0, 1, 5, 4, 2, 3}},
		{"one name does not take all turns", 2, []*waiter{member(1, 0), member(1, 0), member(1, 0), member(2, 0)}, []int{0, 3, 1, 2}},
		{"names take turns", 1, []*waiter{member(1, 0), member(1, 0), member(1, 0), member(2, 0), member(2, 0), member(3, 0)}, []int{0, 1, 3, 5, 2, 4}},
		{"with eight, four", 8, []*waiter{stranger(), stranger(), stranger(), seal(), seal(), seal(), member(1, 0), member(1, 0), member(1, 0), member(1, 0), member(1, 0)}, []int{0, 1, 2, 3, 6, 7, 8, 9, 4, 5, 10}},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newSlotTest(c.turns)
			for i, w := range c.come {
				d.arrive(i, w)
			}
			d.wg.Wait()
			// The order of waiters that have slots at the same time is not defined.
			if len(d.order) != len(c.want) || !sameSets(d.order, c.want, c.turns) {
				t.Errorf("%s: %v, want %v", c.why, d.order, c.want)
			}
			if len(d.queued)+len(d.active) != 0 || d.used != [queues]int{} {
				t.Errorf("%s: left over: %v, %v, %v", c.why, d.queued, d.active, d.used)
			}
		})
	}
}

// sameSets compares two lists in parts of n elements. The order within a part does not matter.
func sameSets(got, want []int, n int) bool {
	for i := 0; i < len(want); i += n {
		end := min(i+n, len(want))
		a, b := slices.Clone(got[i:end]), slices.Clone(want[i:end])
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) {
			return false
		}
	}
	return true
}

func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlotTest(2)
		ctx, leave := context.WithCancel(t.Context())
		full, left := 0, 0
		come := func(n int, w func(i int) *waiter) {
			for i := range n {
				d.wg.Go(func() {
					v := w(i)
					switch err := d.acquire(ctx, v); {
					case err == nil:
						<-ctx.Done()
						d.release(v)
					case fault.KindOf(err) == fault.Transient:
						d.mu.Lock()
						left++
						d.mu.Unlock()
					default:
						if _, ok := errors.AsType[*SlowDownError](err); ok {
							d.mu.Lock()
							full++
							d.mu.Unlock()
						}
					}
				})
			}
			synctest.Wait()
		}
		come(1000, func(int) *waiter { return &waiter{queue: unknownQueue} })
		if full != 1000-1-maxUnknownQueued || d.decoy() != nil {
			t.Errorf("%d strangers refused", full)
		}
		full = 0
		come(100, func(int) *waiter { return &waiter{queue: memberQueue, account: pairOf(1)} })
		if full != 100-1-maxQueuedPerMember {
			t.Errorf("%d logins of one member refused", full)
		}
		full = 0
		come(1000, func(i int) *waiter { return &waiter{queue: memberQueue, account: pairOf(i + 2)} })
		if full != 1000-(maxMembersQueued-maxQueuedPerMember) {
			t.Errorf("%d members refused", full)
		}
		leave()
		d.wg.Wait()
		// A waiter that gets a slot after its context has ended releases the slot.
		if left == 0 || len(d.queued)+len(d.active) != 0 || d.used != [queues]int{} {
			t.Errorf("%d left; left over: %v, %v, %v", left, d.queued, d.active, d.used)
		}
	})
}

// TestGuessersMakeRoom checks a queue that is full of logins that guess the passwords of a few
// members. A login of another member gets the place of one of these. Then it waits for at most
// one login of each of the few members.
func TestGuessersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSlotTest(1)
		const guessed = 8
		for i := range 2 * maxMembersQueued {
			d.arrive(i, &waiter{queue: memberQueue, account: pairOf(i % guessed)})
		}
		const innocent = -1
		d.arrive(innocent, &waiter{queue: memberQueue, account: pairOf(guessed + 1)})
		d.wg.Wait()
		if at := slices.Index(d.order, innocent); at < 0 || at > guessed+1 {
			t.Errorf("the other member is the %dth of %d", at, len(d.order))
		}
		if len(d.order) != 1+maxMembersQueued || len(d.queued)+len(d.active)+len(d.served) != 0 {
			t.Errorf("%d had a turn; left over: %v, %v, %v", len(d.order), d.queued, d.active, d.served)
		}
	})
}

// While many logins with unknown usernames wait, the answer to a wrong password of a member is
// as late as the answer to an unknown username.
func TestAWrongPasswordIsAnsweredLikeAnUnknownName(t *testing.T) {
	w := newFixtureAt(t, testdb.SQLite(t), time.Now)
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "secret")
	w.s.slots = newHashSlots(2, time.Now)
	w.s.slots.wait = time.Minute
	// All slots for unknown usernames are occupied.
	first := &waiter{queue: unknownQueue}
	if err := w.s.slots.acquire(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.wantLogin("a right password does not wait", "admin", "secret", 20)
	w.s.lastCheck.Store(0)
	answered := make(chan error)
	go func() {
		_, err := w.s.Basic(t.Context(), "admin", "wrong", "192.0.2.9")
		answered <- err
	}()
	for w.s.lastCheck.Load() == 0 {
		runtime.Gosched()
	}
	select {
	case err := <-answered:
		t.Fatalf("answered before the strangers in front: %v", err)
	default:
	}
	w.s.slots.release(first)
	if err := <-answered; fault.Public(err) != "Unknown username or wrong password" {
		t.Error(err)
	}
}

// A login is refused after maxQueueWait. A new password continues to wait.
func TestALoginThatWaitsTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newHashSlots(1, time.Now)
		first := &waiter{queue: memberQueue, account: pairOf(1)}
		if err := turns.acquire(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		sealed := make(chan error)
		seal := &waiter{queue: hashQueue}
		go func() { sealed <- turns.acquire(t.Context(), seal) }()
		for _, l := range []queue{memberQueue, unknownQueue} {
			began := time.Now()
			err := turns.acquire(t.Context(), &waiter{queue: l, account: pairOf(2)})
			if _, slow := errors.AsType[*SlowDownError](err); !slow || time.Since(began) != maxQueueWait {
				t.Errorf("line %d: %v after %s", l, err, time.Since(began))
			}
		}
		turns.release(first)
		if err := <-sealed; err != nil {
			t.Error(err)
		}
		turns.release(seal)
		if turns.used != [queues]int{} || len(turns.queued)+len(turns.active) != 0 {
			t.Errorf("left over: %v, %v, %v", turns.used, turns.queued, turns.active)
		}
	})
}
