package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestPlan checks which due deliveries of an ordered subscription may be sent, and which deliveries
// are sent together. In the test, a row is written as asset.moment with flags after it: b means
// that it is behind, l that it is leased, and o that it was sent before.
func TestPlan(t *testing.T) {
	tests := []struct {
		name     string
		due      string
		lines    string
		unfanned map[int64]int64
		most     int
		want     string
	}{
		{"of each asset the first", "1.10 2.11 1.12b", "1.10 1.12 2.11", nil, 1, "1.10 2.11; behind 1.12"},
		{"with those behind it", "1.10 2.11 1.12b", "1.10 1.12 2.11", nil, 100, "1.10+1.12 2.11; behind 1.12"},
		{"with those that are not due, too", "1.10", "1.10 1.12 1.13", nil, 100, "1.10+1.12+1.13"},
		{"up to maxBatch", "1.10", "1.10 1.12 1.13", nil, 2, "1.10+1.12"},
		{"one that was sent stays alone", "1.10o", "1.10o 1.12", nil, 100, "1.10"},
		{"none is left out", "1.10", "1.10 1.11o 1.12", nil, 100, "1.10"},
		{"nor one that is being sent", "1.10", "1.10 1.11l 1.12", nil, 100, "1.10"},
		{"an earlier change is not fanned out", "1.10 2.11", "1.10 2.11", map[int64]int64{1: 9}, 100, "2.11; early 1.10"},
		{"a later one is not", "1.10", "1.10 1.12", map[int64]int64{1: 11}, 100, "1.10"},
		{"the same one", "1.10", "1.10", map[int64]int64{1: 10}, 100, "1.10"},
		{"of no asset", "0.10 0.11", "", nil, 100, "0.10 0.11"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := map[int64][]dueRow{}
			for _, d := range parseRows(t, tt.lines) {
				lines[d.asset] = append(lines[d.asset], d)
			}
			o := plan(parseRows(t, tt.due), tt.unfanned, lines, tt.most)
			var words []string
			for _, d := range o.first {
				word := d.id
				for _, f := range o.follow[d.id] {
					word += "+" + f.id
				}
				words = append(words, word)
			}
			got := strings.Join(words, " ")
			for id := range o.behind {
				got += "; behind " + id
			}
			if len(o.early) > 0 {
				got += "; early " + strings.Join(o.early, " ")
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func parseRows(t *testing.T, text string) (all []dueRow) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		d := dueRow{events: 1, bytes: 20}
		d.id = strings.TrimRight(word, "blo")
		if _, err := fmt.Sscanf(d.id, "%d.%d", &d.asset, &d.first); err != nil {
			t.Fatal(err)
		}
		d.last = d.first
		d.behind, d.leased, d.fresh = strings.HasSuffix(word, "b"), strings.HasSuffix(word, "l"), !strings.HasSuffix(word, "o")
		all = append(all, d)
	}
	return all
}

// inOrderOf creates an ordered subscription, and returns its id.
func (f *fixture) inOrderOf(url string, maxBatch int) string {
	f.Helper()
	id := f.subscribeBatch(url, maxBatch)
	f.exec("UPDATE webhook_subscription SET ordered = 1 WHERE id = ?", id)
	return id
}

// happen inserts one delivery with one event for each asset in assets, in this order.
func (f *fixture) happen(n *Sender, subscription string, assets ...int64) {
	f.Helper()
	var all []*Delivery
	for _, asset := range assets {
		f.moment++
		all = append(all, &Delivery{
			ID: NewID(), Subscription: subscription, Audit: f.moment, Asset: asset, First: f.moment, Last: f.moment, Events: 1,
			Payload: fmt.Appendf(nil, `{"events":[{"asset":%d,"sequenceId":%d}]}`, asset, f.moment), Committed: time.Now().UnixMicro(),
		})
	}
	f.insert(n, all)
}

func (f *fixture) insert(n *Sender, all []*Delivery) {
	f.Helper()
	var batch *Batch
	err := f.d.Write(f.Context(), func(tx *db.Tx) (err error) {
		batch, err = n.Insert(f.Context(), tx, all)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	n.Enqueue(batch)
}

// took claims the deliveries that may be sent. words describes each of them as asset.events: its
// asset and its number of events.
func (f *fixture) took(n *Sender, subscription string) (words []string, all []*Delivery, r *receiver) {
	f.Helper()
	all, r = f.claimed(n, subscription)
	for _, d := range all {
		words = append(words, fmt.Sprintf("%d.%d", d.Asset, d.Events))
		n.queues.claimed[d.ID] = d
	}
	return words, all, r
}

// end stores a result for each delivery, with the given outcome.
func (f *fixture) end(n *Sender, r *receiver, outcome Outcome, all ...*Delivery) {
	f.Helper()
	for _, d := range all {
		status := 200
		if outcome != Delivered {
			status = 500
		}
		f.store(n, &result{d: d, receiver: r, outcome: outcome, status: status})
		n.queues.settled(d)
	}
}

// TestAFailingDeliveryHoldsItsAsset checks that a failing delivery stops only the later deliveries
// of its asset, until it is given up. Then the receipt of the next delivery must contain the id of
// the failed delivery.
func TestAFailingDeliveryHoldsItsAsset(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.inOrderOf("http://127.0.0.1:1", 1)
		f.happen(n, sub, 1, 2, 1, 3, 1)
		want := func(name string, words []string, expected ...string) {
			t.Helper()
			if !slices.Equal(words, expected) {
				t.Errorf("%s: %v are sent, want %v", name, words, expected)
			}
		}
		words, all, r := f.took(n, sub)
		want("at first", words, "1.1", "2.1", "3.1")
		f.end(n, r, Delivered, all[1], all[2])
		words, _, _ = f.took(n, sub)
		want("while the first is in flight", words)
		first := all[0]
		f.end(n, r, Retry, first)
		f.exec("UPDATE webhook_delivery SET due = due + 60000000 WHERE id = ?", first.ID) // time of its next attempt
		f.happen(n, sub, 2, 1)
		words, all, r = f.took(n, sub)
		want("while it waits for its next attempt", words, "2.1")
		f.end(n, r, Delivered, all...)
		if views, _, err := f.list(sub); err != nil || views[0].Why != "retry" || views[1].Why != "asset" || views[1].Due != "" {
			t.Errorf("what waits: %+v, %v", views, err)
		}
		f.exec("UPDATE webhook_delivery SET due = 1 WHERE id = ?", first.ID)
		words, all, r = f.took(n, sub)
		want("its last attempt", words, "1.1")
		f.end(n, r, Exhausted, all...)
		f.exec("UPDATE webhook_subscription SET failures_in_row = 0")
		words, all, r = f.took(n, sub)
		want("after it was given up", words, "1.1")
		if len(all) == 1 && all[0].First != first.First+2 {
			t.Errorf("the event %d comes after %d", all[0].First, first.First)
		}
		f.end(n, r, Delivered, all...)
		words, all, r = f.took(n, sub)
		want("and then", words, "1.1")
		f.end(n, r, Delivered, all...)
		words, all, r = f.took(n, sub)
		want("the last", words, "1.1")
		f.end(n, r, Delivered, all...)
		if f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0") != 0 {
			t.Error("some still wait")
		}
		if f.count("SELECT COUNT(*) FROM webhook_receipt WHERE given_up = ?", first.ID) != 1 ||
			f.count("SELECT COUNT(*) FROM webhook_receipt WHERE given_up IS NOT NULL") != 1 {
			t.Error("one receipt says that it came after one that was given up")
		}
	})
}

// list returns the waiting deliveries of a subscription.
func (f *fixture) list(subscription string) (views []View, total int64, err error) {
	err = f.d.Read(f.Context(), func(tx *db.Tx) (err error) {
		views, total, err = f.s.List(f.Context(), tx, subscription, waiting, 100, 0)
		return err
	})
	return views, total, err
}

// TestEventsOfAnAssetGoTogether checks that waiting deliveries of an asset are sent together. Once
// a claim has found that deliveries are behind, later claims must not read these deliveries again.
func TestEventsOfAnAssetGoTogether(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.inOrderOf("http://127.0.0.1:1", 40)
		many := make([]int64, 600)
		for i := range many {
			many[i] = 7
		}
		f.happen(n, sub, many...)
		f.happen(n, sub, 8)
		_, all, r := f.took(n, sub)
		if len(all) != 1 || all[0].Events != 40 || all[0].Last != all[0].First+39 {
			t.Fatalf("the first claim has %d deliveries", len(all))
		}
		for range 3 { // the claims find the deliveries that are behind, and postpone them
			if words, others, _ := f.took(n, sub); len(words) > 0 {
				all = append(all, others...)
			}
		}
		if len(all) != 2 || all[1].Asset != 8 {
			t.Fatalf("%d deliveries are in flight", len(all))
		}
		if left := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND owner IS NULL AND due < ?", db.Forever); left != 0 {
			t.Errorf("%d that wait for the first are looked at by each claim", left)
		}
		f.end(n, r, Delivered, all...)
		_, all, _ = f.took(n, sub)
		if len(all) != 1 || all[0].Events != 40 {
			t.Errorf("then %d deliveries", len(all))
		}
	})
}

// TestWhatIsNotFannedOutHoldsItsAsset checks an early change of an asset that another worker fans
// out late. Its delivery must still be sent before the deliveries of later changes.
func TestWhatIsNotFannedOutHoldsItsAsset(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.inOrderOf("http://127.0.0.1:1", 10)
		f.moment++
		early := f.moment
		f.exec(`INSERT INTO audit (id, request_id, actor_id, at, first_moment, last_moment, generation) VALUES (?,?,20,1,?,?,0)`,
			early, uuid.NewString(), early, early)
		f.exec(`INSERT INTO asset_version (id, type, state, moment, until_moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, linked)
			VALUES (5, 1, 64, ?, ?, ?, ?, 1, 20, 1, 20, 0)`, early, early+1, early, early)
		f.happen(n, sub, 5, 6)
		words, all, r := f.took(n, sub)
		if !slices.Equal(words, []string{"6.1"}) {
			t.Errorf("%v are sent before an earlier change is fanned out", words)
		}
		f.end(n, r, Delivered, all...)
		f.exec("UPDATE audit SET fan_state = 1 WHERE fan_state = 0")
		f.insert(n, []*Delivery{{ID: NewID(), Subscription: sub, Audit: early, Asset: 5, First: early, Last: early, Events: 1, Payload: []byte(`{"events":[{"sequenceId":1}]}`), Committed: 1}})
		f.exec("UPDATE webhook_delivery SET due = 1 WHERE due < ?", db.Forever)
		if _, all, _ = f.took(n, sub); len(all) != 1 || all[0].First != early || all[0].Events != 2 {
			t.Errorf("then %d deliveries", len(all))
		}
	})
}

func TestDeliveriesSetAsideLetTheNextOneGo(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.inOrderOf("http://127.0.0.1:1", 1)
		f.happen(n, sub, 1, 1)
		f.exec("UPDATE webhook_delivery SET claims = 5 WHERE first_moment = ?", f.moment-1)
		var all []*Delivery
		for range 3 {
			if _, some, _ := f.took(n, sub); len(some) > 0 {
				all = append(all, some...)
			}
		}
		if len(all) != 1 || all[0].First != f.moment || all[0].after == "" {
			t.Errorf("%d deliveries are sent after one was set aside", len(all))
		}
	})
}

// TestTheOrderEnds checks that the waiting deliveries of a subscription become due when its order
// is switched off.
func TestTheOrderEnds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		n := f.idleSender()
		sub := f.inOrderOf("http://127.0.0.1:1", 1)
		f.happen(n, sub, 1, 1, 1)
		f.took(n, sub)
		err := d.Write(t.Context(), func(tx *db.Tx) error { return f.s.EndOrder(t.Context(), tx, sub) })
		if err != nil {
			t.Fatal(err)
		}
		f.exec("UPDATE webhook_subscription SET ordered = 0 WHERE enabled = 1")
		if words, _, _ := f.took(n, sub); len(words) != 2 {
			t.Errorf("%v are sent", words)
		}
	})
}

// TestOrderedEventsArriveInOrder checks that a running sender sends the events of several assets at
// the same time. The events of each asset must arrive in order, also while the deliveries of
// another asset fail.
func TestOrderedEventsArriveInOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		s := newSink(t, nil)
		s.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if strings.Contains(s.bodies[n], `"asset":3,`) {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}
		n := f.sender(Options{Slots: 16, InFlight: 4, Schedule: []time.Duration{5 * time.Millisecond, 5 * time.Millisecond}})
		sub := f.inOrderOf(s.URL, 5)
		ctx, cancel := context.WithTimeout(t.Context(), maxWait)
		defer cancel()
		var made []int64
		for i := range int64(200) {
			made = append(made, 1+i%10)
		}
		f.happen(n, sub, made...)
		f.happen(n, sub, made...)
		for f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0 AND asset_id <> 3") > 0 && ctx.Err() == nil {
			if err := n.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			<-time.After(5 * time.Millisecond)
		}
		last, events := map[int64]int64{}, 0
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, text := range s.bodies {
			var body struct {
				Events []struct{ Asset, SequenceID int64 }
			}
			if err := json.Unmarshal([]byte(text), &body); err != nil {
				t.Fatal(err)
			}
			for _, e := range body.Events {
				switch {
				case e.Asset == 3: // the receiver refuses these events
				case e.SequenceID <= last[e.Asset]:
					t.Errorf("%d of the asset %d comes after %d", e.SequenceID, e.Asset, last[e.Asset])
				default:
					last[e.Asset] = e.SequenceID
					events++
				}
			}
		}
		if events != 360 {
			t.Errorf("%d events", events)
		}
	})
}
