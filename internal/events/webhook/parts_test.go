package webhook

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/delivery"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// selecting returns the definitions of a subscription to new stories, for the body of a request.
// Subscriptions with different selections do not share payloads.
func selecting(attributes ...string) map[string]any {
	return map[string]any{"eventTypes": []any{map[string]any{"type": "AssetCreated", "from": "Story", "select": attributes}}}
}

// unlike creates n subscriptions that do not share payloads, and returns their receivers.
func (f *fixture) unlike(n int) (all []*sink) {
	for i := range n {
		s := newSink(f.T, nil)
		f.subscribe(s.URL, selecting(slices.Repeat([]string{"Name"}, i+1)...))
		all = append(all, s)
	}
	return all
}

func long(asset int64, name string, size int) edit {
	return edit{asset: asset, typ: "Story", set: map[string]any{"name": name, "description": strings.Repeat("x", size)}}
}

// TestEventsForManyAreMadeInParts checks the limit of memory for events. A chunk of several
// versions, and even of one version, exceeds the limit. So the deliveries of one event must be
// created in parts.
func TestEventsForManyAreMadeInParts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		w.maxMade = 300 << 10
		sinks := f.unlike(5)
		edits := []edit{long(9000, "short", 10)}
		for i := range 3 {
			edits = append(edits, long(int64(9001+i), "long", 100<<10))
		}
		f.write(20, edits...)
		waiting, _, err := w.waiting(t.Context())
		if err != nil || len(waiting) != 1 {
			t.Fatal(len(waiting), err)
		}
		idx, err := w.index(t.Context(), &w.cache, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		for size, tooLarge := range map[int]bool{change.ChunkSize: true, 1: true, apart: false} {
			c, err := w.loadChunk(t.Context(), idx, waiting, waiting[0].first, size) // without the story named short
			if err != nil {
				t.Fatal(err)
			}
			if err := w.match(t.Context(), idx, c); isTooLarge(err) != tooLarge || len(c.deliveries) > 0 {
				t.Errorf("%d versions at a time: %d deliveries, %v", size, len(c.deliveries), err)
			}
		}
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		for i, s := range sinks {
			if !s.eachOnce(4) {
				t.Errorf("the receiver %d got %v", i, s.sequence())
			}
		}
	})
}

// TestPartsAreStoredOnce fans out an audit whose parts are stored, but which is not marked as done.
// Then it fans out the same audit again. The parts must not be stored twice.
func TestPartsAreStoredOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		sinks := f.unlike(3)
		f.write(20, long(9000, "long", 100<<10))
		f.exec("UPDATE audit SET fan_claims = ? WHERE fan_state = 0", len(chunkSizes)-1) // as after four unsuccessful claims
		waiting, gen, err := w.waiting(t.Context())
		if err != nil || len(waiting) != 1 {
			t.Fatal(len(waiting), err)
		}
		audits, err := w.claim(t.Context(), waiting)
		if err != nil || len(audits) != 1 {
			t.Fatal(len(audits), err)
		}
		idx, err := w.index(t.Context(), &w.cache, gen)
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.loadChunk(t.Context(), idx, audits, 0, apart)
		if err == nil {
			err = w.match(t.Context(), idx, c)
		}
		if err == nil {
			err = c.parts.store(t.Context(), audits[0])
		}
		if n := f.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0"); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		if err := w.fanOut(t.Context(), audits, gen); err != nil { // a second time
			t.Fatal(err)
		}
		f.eventually(w, "settled", f.settledAll)
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery"); n != len(sinks) {
			t.Errorf("%d deliveries for %d subscriptions", n, len(sinks))
		}
	})
}

// TestAnEventIsSetAsideForOneSubscription uses two subscriptions and an event that cannot be
// created for one of them. The other subscription must get the event. Events that are too large
// must be sent in a reduced form.
func TestAnEventIsSetAsideForOneSubscription(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		w.maxMade, w.maxEvent = 150<<10, 200<<10
		s, other := newSink(t, nil), newSink(t, nil)
		bad := f.subscribe(other.URL, selecting("Name", "Number"))
		f.subscribe(s.URL, selecting("Name"))
		f.write(20, long(9000, "good", 10), long(9001, "unreadable", 10), long(9002, "too long", 250<<10), long(9003, "long", 160<<10))
		f.fanOut(w)
		f.eventually(w, "settled", f.settledAll)
		if got, theirs := len(s.sequence()), len(other.sequence()); got != 4 || theirs != 3 {
			t.Errorf("%d and %d events came", got, theirs)
		}
		const aside = "SELECT COUNT(*) FROM webhook_delivery WHERE state = 4 AND settled_at > 0 AND LENGTH(payload) < 2000 AND last_error LIKE ?"
		if n := f.count(aside, "%needs more memory%"); n != 1 {
			t.Errorf("set aside: %d that cannot be read", n)
		}
		if n := f.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 4"); n != 1 {
			t.Errorf("%d are set aside", n)
		}
		if n := f.redeliver(bad.ID, `{"since":"2020-01-01T00:00:00Z"}`); n != 4 {
			t.Errorf("%d deliveries again", n)
		}
		f.eventually(w, "settled", f.settledAll)
		if got := len(other.sequence()); got != 3+4 {
			t.Errorf("%d events came in all", got)
		}
	})
}

// TestAVersionThatFailsIsLeftOutAlone checks a write in which some versions fail. The other
// versions of the write must be delivered.
func TestAVersionThatFailsIsLeftOutAlone(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		s := newSink(t, nil)
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{
			map[string]any{"type": "AssetCreated", "from": "Story", "filter": []any{"Reference='r'"}},
		}})
		f.write(20, long(9000, "good", 10), long(9001, "poison!", 10), long(9002, "good", 10), long(9003, "poison!", 10))
		f.eventually(w, "set aside", func() bool {
			f.expire()
			return f.count("SELECT COUNT(*) FROM audit WHERE fan_state = 2 AND fan_error LIKE '%cannot be evaluated%'") == 1
		})
		f.eventually(w, "settled", f.settledAll)
		if got := s.sequence(); len(got) != 2 {
			t.Errorf("%d events came of the two that can be evaluated", len(got))
		}
	})
}

// TestAnEventThatIsTooLargeIsReduced checks an event that is too large for the database. It must
// contain hashes in place of long values. The other event of the same write must not be reduced.
func TestAnEventThatIsTooLargeIsReduced(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		w := f.worker(delivery.Options{})
		s := newSink(t, nil)
		f.subscribe(s.URL, map[string]any{"eventTypes": []any{map[string]any{"type": "AssetChanged", "from": "Story", "select": []any{"Name"}}}})
		f.write(20, long(9000, "a", 9<<20), long(9001, "b", 10))
		before, after := strings.Repeat("x", 9<<20), strings.Repeat("y", 9<<20)
		f.write(20, edit{asset: 9000, set: map[string]any{"description": after, "name": "c"}}, edit{asset: 9001, set: map[string]any{"name": "d"}})
		if err := w.measure(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.largest.Store(min(w.largest.Load(), 16<<20)) // 16 MiB is the default of MariaDB
		f.eventually(w, "settled", f.settledAll)
		if len(s.events) != 2 {
			t.Fatalf("%d events came", len(s.events))
		}
		if size := len(s.bodies[0]); size > 1<<20 {
			t.Fatalf("the first body has %d bytes", size)
		}
		long, short := s.events[0], s.events[1]
		want := []any{
			map[string]any{"name": "Name", "act": "Set", "old": "a", "new": "c"},
			map[string]any{"name": "Description", "act": "Set", "old": hashOf(before), "new": hashOf(after), "reduced": true},
		}
		if diff := cmp.Diff(want, long["changes"]); diff != "" || long["reduced"] != true {
			t.Errorf("reduced is %v, %s", long["reduced"], diff)
		}
		if diff := cmp.Diff([]any{map[string]any{"_oid": "Story:9000", "Name": "c"}}, long["snapshot"]); diff != "" {
			t.Error(diff)
		}
		if _, is := short["reduced"]; is {
			t.Errorf("the other event is reduced: %v", short)
		}
	})
}

func hashOf(text string) string {
	return fmt.Sprintf("sha256:%x:%d", sha256.Sum256([]byte(text)), len(text))
}
