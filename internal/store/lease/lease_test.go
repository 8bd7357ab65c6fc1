package lease

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// table returns a table with three open rows, 1 to 3, and the row 4, which is done.
func table(t *testing.T, d *db.DB) *Table[int64] {
	t.Helper()
	testdb.Exec(t, d, "DELETE FROM audit")
	for id, state := range []int{1: 0, 2: 0, 3: 0, 4: 1} {
		if id > 0 {
			testdb.Exec(t, d, "INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state) VALUES (?, ?, 20, 1, 1, 1, 0, ?)", id, id, state)
		}
	}
	return New[int64](d, "audit", "fan_", "fan_state = 0")
}

func claim(t *testing.T, d *db.DB, l *Table[int64], owner string, want ...int64) {
	t.Helper()
	got, err := l.Claim(t.Context(), d, owner, []int64{1, 2, 3, 4})
	if slices.Sort(got); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%s claimed %v, want %v: %v", owner, got, want, err)
	}
}

func TestRowsAreClaimedOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := table(t, d)
		claim(t, d, l, "a", 1, 2, 3)
		claim(t, d, l, "b")
		if err := l.Release(t.Context(), "a", []int64{2}); err != nil {
			t.Fatal(err)
		}
		claim(t, d, l, "b", 2)
		if err := l.Retry(t.Context(), "a", []int64{1}, time.Hour); err != nil {
			t.Fatal(err)
		}
		claim(t, d, l, "c")
	})
}

func TestALostLeaseChangesNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := table(t, d)
		claim(t, d, l, "a", 1, 2, 3)
		testdb.Exec(t, d, "UPDATE audit SET fan_lease = 0 WHERE id = 1")
		claim(t, d, l, "b", 1)
		for _, err := range []error{
			l.Update(t.Context(), d, "a", []int64{1}, "fan_state = ?", 2), l.Release(t.Context(), "a", []int64{1}),
			l.Retry(t.Context(), "a", []int64{1}, 0),
		} {
			if !errors.Is(err, ErrLost) {
				t.Errorf("%v, want %v", err, ErrLost)
			}
		}
		if held, err := l.Renew(t.Context(), "a", []int64{1, 2, 3}); err != nil || !slices.Equal(held, []int64{2, 3}) {
			t.Errorf("a renewed %v: %v", held, err)
		}
		if held, err := l.Renew(t.Context(), "b", []int64{1}); err != nil || len(held) != 1 {
			t.Errorf("b renewed %v: %v", held, err)
		}
	})
}

func TestAutoRenewEndsWithTheLastLease(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := table(t, d)
		l.renewEvery = 50 * time.Millisecond
		claim(t, d, l, "a", 1, 2, 3)
		reports := make(chan error, 1)
		defer l.AutoRenew(t.Context(), "a", []int64{1, 2}, func(err error) { reports <- err })()
		testdb.Exec(t, d, "UPDATE audit SET fan_owner = 'b' WHERE id IN (1, 2)")
		if err := <-reports; !errors.Is(err, ErrLost) {
			t.Errorf("%v, want %v", err, ErrLost)
		}
	})
}

// After each claim that did not end normally, a row waits longer until it can be claimed again. The
// first such claim causes no wait.
func TestARowWhoseClaimsDidNotEndPauses(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := table(t, d)
		l.Pause = time.Hour
		for claims, lasts := range []time.Duration{0, 0, time.Hour, 2 * time.Hour} {
			at := time.Now().Add(time.Minute - lasts).UnixMicro() // when the lease ended
			testdb.Exec(t, d, "UPDATE audit SET fan_claims = ?, fan_lease = ? WHERE id = 1", claims, at)
			if got, err := l.Claim(t.Context(), d, "early", []int64{1}); err != nil || len(got) > 0 {
				t.Errorf("after %d claims it was claimed a minute too early, %v", claims, err)
			}
			testdb.Exec(t, d, "UPDATE audit SET fan_lease = ? WHERE id = 1", at-2*time.Minute.Microseconds())
			if got, err := l.Claim(t.Context(), d, "late", []int64{1}); err != nil || len(got) != 1 {
				t.Errorf("after %d claims it was not claimed, %v", claims, err)
			}
		}
	})
}

func TestARowIsGivenUpAfterTooManyClaims(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := table(t, d)
		for i := range MaxClaims {
			claim(t, d, l, "a", 1, 2, 3)
			if i > 0 {
				if err := l.Release(t.Context(), "a", []int64{2}); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := l.GiveUp(t.Context(), d, []int64{1, 2}, "fan_state = 2"); n != 0 || err != nil {
				t.Fatalf("gave up %d rows: %v", n, err)
			}
			testdb.Exec(t, d, "UPDATE audit SET fan_lease = 0")
		}
		if n, err := l.GiveUp(t.Context(), d, []int64{1, 2}, "fan_state = 2"); n != 1 || err != nil {
			t.Errorf("gave up %d rows: %v", n, err)
		}
		claim(t, d, l, "b", 2, 3)
	})
}
