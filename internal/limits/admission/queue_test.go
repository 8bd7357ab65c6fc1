package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
)

// enter calls Enter and fails the test on an error.
func enter(t *testing.T, q *Queue, key any) func() {
	t.Helper()
	leave, err := q.Enter(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return leave
}

func TestKeysAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Bounds{Running: 1, PerKey: 1, Line: 10})
		leave := enter(t, q, "first")
		var mu sync.Mutex
		var order []string
		for _, key := range []string{"greedy", "greedy", "greedy", "modest"} {
			go func() {
				leave, err := q.Enter(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, key)
				mu.Unlock()
				leave()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		if len(order) != 4 || order[0] != "greedy" || order[1] != "modest" {
			t.Errorf("order %v", order)
		}
		if running, waiting := q.Load(); running != 0 || waiting != 0 || len(q.keys) != 0 || len(q.turns) != 0 {
			t.Errorf("%d running, %d waiting, %d keys, %d turns are left", running, waiting, len(q.keys), len(q.turns))
		}
	})
}

func TestOneKeyLeavesRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Bounds{Running: 3, PerKey: 2, Line: 1})
		first, _ := enter(t, q, "greedy"), enter(t, q, "greedy")
		admitted := make(chan struct{})
		go func() {
			enter(t, q, "greedy")
			close(admitted)
		}()
		synctest.Wait()
		if _, err := q.Enter(t.Context(), "greedy"); fault.KindOf(err) != fault.Transient {
			t.Errorf("above its bound: %v", err)
		}
		enter(t, q, "modest") // does not wait
		first()
		<-admitted
	})
}

// TestAKeyWithFewRequestsDoesNotWaitForTheRound uses many keys that always have waiting requests,
// and one key with a single request. The single request must run second. The other keys must take
// turns.
func TestAKeyWithFewRequestsDoesNotWaitForTheRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const greedy = 20
		q := New(Bounds{Running: 1, PerKey: 1, Line: 10})
		leave := enter(t, q, "first")
		var mu sync.Mutex
		var order []int
		served := func(key int) {
			leave, err := q.Enter(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, key)
			mu.Unlock()
			leave()
		}
		for range 3 {
			for key := range greedy {
				go served(key)
				synctest.Wait()
			}
		}
		const modest = -1
		go served(modest)
		synctest.Wait()
		leave()
		synctest.Wait()
		if at := slices.Index(order, modest); at > 1 {
			t.Errorf("it is served as number %d: %v", at, order)
		}
		for key := range greedy {
			if at := slices.Index(order, key); at > 2*greedy {
				t.Errorf("%d is served as number %d", key, at)
			}
		}
	})
}

// TestRecentRequestsAreBounded checks when a waiting request starts: when an earlier request ends,
// or when an earlier request no longer counts as recent.
func TestRecentRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const long = 250 * time.Millisecond
		q := New(Bounds{Running: 3, Recent: 1, RecentFor: long, PerKey: 3, Line: 9})
		began := time.Now()
		first := enter(t, q, "a")
		second := enter(t, q, "b")
		if waited := time.Since(began); waited != long {
			t.Errorf("beside one that goes on it waits %s", waited)
		}
		began = time.Now()
		time.AfterFunc(long/10, second)
		third := enter(t, q, "a")
		if waited := time.Since(began); waited != long/10 {
			t.Errorf("beside one that ends it waits %s", waited)
		}
		time.Sleep(long)
		synctest.Wait()
		fourth := enter(t, q, "b")
		began = time.Now()
		time.AfterFunc(4*long, first)
		fifth := enter(t, q, "c")
		if waited := time.Since(began); waited != 4*long {
			t.Errorf("where as many run as may, it waits %s", waited)
		}
		for _, leave := range []func(){third, fourth, fifth, first, second} {
			leave()
		}
		if running, waiting := q.Load(); running != 0 || waiting != 0 || q.recent != 0 || len(q.keys) != 0 {
			t.Errorf("%d running, %d of them recent, %d waiting, %d keys are left", running, q.recent, waiting, len(q.keys))
		}
	})
}

// TestKeysWithFewRequestsAreRefusedLast checks what happens when too many requests wait. A new
// request in a shorter queue displaces the last request of the longest queue. A new request in the
// longest queue is refused.
func TestKeysWithFewRequestsAreRefusedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Bounds{Running: 1, PerKey: 1, Line: 10, Waiting: 3})
		leave := enter(t, q, "first")
		var mu sync.Mutex
		became := map[string]string{}
		for _, one := range []struct{ name, key string }{
			{"greedy 1", "greedy"},
			{"greedy 2", "greedy"},
			{"greedy 3", "greedy"},
			{"greedy 4", "greedy"},
			{"modest 1", "modest"},
			{"modest 2", "modest"},
			{"other 1", "other"},
			{"last 1", "last"},
		} {
			go func() {
				leave, err := q.Enter(t.Context(), one.key)
				mu.Lock()
				defer mu.Unlock()
				if became[one.name] = "admitted"; err != nil {
					became[one.name] = fault.KindOf(err).String()
					return
				}
				leave()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		for _, name := range []string{"greedy 1", "modest 1", "other 1"} {
			if became[name] != "admitted" {
				t.Errorf("%s: %q", name, became[name])
			}
			delete(became, name)
		}
		for name, how := range became {
			if how == "admitted" {
				t.Errorf("%s was admitted, too", name)
			}
		}
		if running, waiting := q.Load(); len(became) != 5 || running != 0 || waiting != 0 || len(q.keys) != 0 || len(q.turns) != 0 {
			t.Errorf("%d running, %d waiting, %d keys, %d turns are left; refused %v", running, waiting, len(q.keys), len(q.turns), became)
		}
	})
}

func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Bounds{Running: 1, PerKey: 1, Line: 2, Wait: time.Second})
		leave := enter(t, q, "a")
		began := time.Now()
		if _, err := q.Enter(t.Context(), "b"); fault.KindOf(err) != fault.Transient || time.Since(began) != time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := q.Enter(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with its context: %v", err)
		}
		leave()
		leave() // the second call changes nothing
		enter(t, q, "b")()
		if len(q.keys) != 0 || len(q.turns) != 0 {
			t.Errorf("%d keys, %d turns are left", len(q.keys), len(q.turns))
		}
	})
}

// TestBoundsHold runs many requests of many keys at the same time. Some of them wait too long and
// are refused.
func TestBoundsHold(t *testing.T) {
	q := New(Bounds{Running: 8, PerKey: 3, Line: 50, Waiting: 60, Wait: 5 * time.Millisecond})
	var mu sync.Mutex
	now, of, most := 0, map[int]int{}, 0
	var all sync.WaitGroup
	for i := range 2000 {
		all.Go(func() {
			key := i % 7
			leave, err := q.Enter(t.Context(), key)
			if err != nil {
				return
			}
			mu.Lock()
			now++
			of[key]++
			most = max(most, now)
			if now > 8 || of[key] > 3 {
				t.Errorf("%d run, %d of one key", now, of[key])
			}
			mu.Unlock()
			time.Sleep(100 * time.Microsecond)
			mu.Lock()
			now--
			of[key]--
			mu.Unlock()
			leave()
		})
	}
	all.Wait()
	if running, waiting := q.Load(); running != 0 || waiting != 0 || len(q.keys) != 0 || len(q.turns) != 0 || most < 8 {
		t.Errorf("%d running, %d waiting, %d keys, %d turns; at most %d ran", running, waiting, len(q.keys), len(q.turns), most)
	}
}
