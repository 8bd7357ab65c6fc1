package delivery

import (
	"slices"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestTheClockIsSeenToGoBack(t *testing.T) {
	var c clock
	for _, tt := range []struct {
		now             int64
		isBack, isFirst bool
	}{{100, true, true}, {100, false, false}, {5000, false, false}, {4999, true, false}, {5000, false, false}} {
		if isBack, isFirst := c.isBack(tt.now); isBack != tt.isBack || isFirst != tt.isFirst {
			t.Errorf("at %d: %t, %t", tt.now, isBack, isFirst)
		}
	}
}

// TestDeliveriesThatFailedWhileTheClockWasAheadAreDue uses deliveries that were made or failed
// while the clock of the database was ahead. They must become due when the clock is right again.
// Other deliveries must keep their times.
func TestDeliveriesThatFailedWhileTheClockWasAheadAreDue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		f.enqueue(f.idleSender(), sub, 5)
		day := (24 * time.Hour).Microseconds()
		of := func(i int64) int64 { return f.moment - 5 + i }
		now := d.Dialect.NowMicros
		// The first delivery failed while the clock was ahead, and the second was made then.
		f.exec("UPDATE webhook_delivery SET attempts = 1, failed_at = "+now+" + ?, due = "+now+" + ? WHERE first_moment = ?",
			day, day+1000, of(1))
		f.exec("UPDATE webhook_delivery SET due = "+now+" + ? WHERE first_moment = ?", day, of(2))
		// The third waits for its last attempt, and the fourth for another delivery of its asset.
		f.exec("UPDATE webhook_delivery SET attempts = 9, failed_at = "+now+" - 1, due = "+now+" + ? WHERE first_moment = ?",
			day, of(3))
		f.exec("UPDATE webhook_delivery SET due = ? WHERE first_moment = ?", db.Forever, of(4))
		// The fifth was claimed while the clock was ahead, by a sender that has ended.
		f.exec("UPDATE webhook_delivery SET owner = 'ended', lease = "+now+" + ? WHERE first_moment = ?", day, of(5))
		f.exec("UPDATE webhook_subscription SET breaker_state = 1, breaker_until = "+now+" + ? WHERE enabled = 1", day)

		n := f.idleSender()
		if _, err := n.correctTimes(t.Context()); err != nil {
			t.Fatal(err)
		}
		due, err := db.Column[int64](t.Context(), d, "SELECT first_moment FROM webhook_delivery WHERE due <= "+now+" ORDER BY first_moment")
		if want := []int64{of(1), of(2), of(5)}; err != nil || !slices.Equal(due, want) {
			t.Errorf("%v are due, want %v: %v", due, want, err)
		}
		if f.count("SELECT COUNT(*) FROM webhook_delivery WHERE lease > "+now+" + ?", lease.Duration.Microseconds()) != 0 {
			t.Error("a lease ends when the clock has come to where it was")
		}
		if f.count("SELECT COUNT(*) FROM webhook_subscription WHERE breaker_until <= "+now) != 1 {
			t.Error("the receiver rests until the clock has come to where it was")
		}

		// A running sender corrects times only after the clock was set back.
		f.exec("UPDATE webhook_subscription SET breaker_until = "+now+" + ? WHERE enabled = 1", time.Minute.Microseconds())
		f.exec("UPDATE webhook_delivery SET failed_at = "+now+" + ?, attempts = 1, due = "+now+" + ? WHERE first_moment = ?", day, day, of(5))
		if _, err := n.correctTimes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.count("SELECT COUNT(*) FROM webhook_delivery WHERE first_moment = ? AND due > "+now, of(5)) != 1 {
			t.Error("it is looked for although the clock has not gone back")
		}
		n.clock.last += day
		if _, err := n.correctTimes(t.Context()); err != nil {
			t.Fatal(err)
		}
		if f.count("SELECT COUNT(*) FROM webhook_delivery WHERE first_moment = ? AND due <= "+now, of(5)) != 1 ||
			f.count("SELECT COUNT(*) FROM webhook_subscription WHERE breaker_until <= "+now) != 1 {
			t.Error("what was to come after the clock was set back is not due")
		}
	})
}

// TestAFailureIsStoredWithItsTime checks that a failure stores its time. The function correctDue
// reads this time.
func TestAFailureIsStoredWithItsTime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		sub := f.subscribe("http://127.0.0.1:1")
		n := f.idleSender()
		f.enqueue(f.idleSender(), sub, 1)
		all, r := f.claimed(n, sub)
		f.store(n, &result{d: all[0], receiver: r, outcome: Retry, wait: time.Hour, status: 500})
		now := d.Dialect.NowMicros
		if f.count("SELECT COUNT(*) FROM webhook_delivery WHERE failed_at > "+now+" - 60000000 AND failed_at <= "+now) != 1 {
			t.Error("the time of the failure is not stored")
		}
	})
}
