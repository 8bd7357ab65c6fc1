package auth

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// flood calls try from many goroutines without a pause until the test ends. callers is the number
// of goroutines. Each call has a different n. flood returns after the first calls, as soon as the
// number of ended calls equals the number of goroutines.
func flood(t *testing.T, callers int, try func(ctx context.Context, n int64)) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var n, back atomic.Int64
	going := make(chan struct{})
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				try(ctx, n.Add(1))
				if back.Add(1) == int64(callers) {
					close(going)
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		wg.Wait()
		t.Logf("%d logins in the flood", back.Load())
	})
	select {
	case <-going:
	case <-time.After(time.Minute):
		t.Fatal("the flood does not come on")
	}
}

// cheapInShort makes hashes cheap with -short. It also lets logins wait for up to a minute, so that
// the tests pass on a busy machine, too.
func cheapInShort(w *fixture) {
	w.s.slots.wait = time.Minute
	if testing.Short() {
		w.s.cost, w.s.dummy = cheap, hashPassword("nobody's", cheap)
	}
}

// Many wrong logins with random usernames come from the same address as the members. No first
// login of a member is refused because of them.
func TestRandomNamesLockNobodyOut(t *testing.T) {
	const members = 15
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixtureAt(t, d, time.Now)
		cheapInShort(w)
		sealed, err := w.s.Seal(t.Context(), "secret")
		if err != nil {
			t.Fatal(err)
		}
		for i := range int64(members) {
			w.member(1001+i, 64, 4)
			name := fmt.Sprintf("member%d", i)
			if err := w.d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 1001+i, &name, &sealed) }); err != nil {
				t.Fatal(err)
			}
		}
		flood(t, 300, func(ctx context.Context, n int64) {
			_, _ = w.s.Basic(ctx, fmt.Sprintf("nobody%d", n), "guess", "192.0.2.1")
		})
		var wg sync.WaitGroup
		var longest atomic.Int64
		for i := range int64(members) {
			wg.Go(func() {
				began := time.Now()
				a, err := w.s.Basic(t.Context(), fmt.Sprintf("member%d", i), "secret", "192.0.2.1")
				if err != nil || a.Member != 1001+i {
					t.Errorf("member%d: %+v, %v", i, a, err)
				}
				for took := int64(time.Since(began)); ; {
					was := longest.Load()
					if took <= was || longest.CompareAndSwap(was, took) {
						break
					}
				}
			})
		}
		wg.Wait()
		t.Logf("the slowest of %d right logins took %v", members, time.Duration(longest.Load()))
	})
}

// Many wrong passwords for one username do not prevent its member from logging in from another
// address, not even for the first time.
func TestWrongPasswordsFromElsewhereDoNotLockTheOwnerOut(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixtureAt(t, d, time.Now)
		cheapInShort(w)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "secret")
		flood(t, 50, func(ctx context.Context, n int64) {
			_, _ = w.s.Basic(ctx, "admin", fmt.Sprintf("guess %d", n), "198.51.100.7")
		})
		for _, addr := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
			if a, err := w.s.Basic(t.Context(), "admin", "secret", addr); err != nil || a.Member != 20 {
				t.Errorf("the owner from %s: %+v, %v", addr, a, err)
			}
		}
	})
}
