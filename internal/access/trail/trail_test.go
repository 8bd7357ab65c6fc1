package trail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

var everything = Sight{All: true}

func newLog(d *db.DB) *Log { return New(d, meta.Default(), Options{}) }

func record(t *testing.T, d *db.DB, events ...Event) {
	t.Helper()
	err := d.Write(t.Context(), func(tx *db.Tx) error { return Record(t.Context(), tx, events...) })
	if err != nil {
		t.Fatal(err)
	}
}

func page(t *testing.T, l *Log, may Sight, q Query) Page {
	t.Helper()
	p, err := l.Events(t.Context(), may, q)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// names returns the field Subscription of the events of a page. Tests use it to distinguish events.
func names(p Page) string {
	var all []string
	for _, v := range p.Results {
		all = append(all, v.Subscription)
	}
	return strings.Join(all, " ")
}

func named(i int) Event {
	return Event{Kind: SubscriptionCreated, Actor: 20, Address: "192.0.2.1", Detail: Detail{Subscription: fmt.Sprint(i)}}
}

func TestWhatIsRecordedIsRead(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := With(t.Context(), Origin{Member: 20, Address: "2001:db8::1"})
		before := time.Now().Add(-time.Minute).UTC()
		err := d.Write(ctx, func(tx *db.Tx) error {
			return Record(ctx, tx, Event{
				Kind: RoleGranted, Member: 1001, Project: In(0), Asset: oid.OID{Type: "Scope"}, Detail: Detail{Role: "Role:4"},
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		p := page(t, newLog(d), everything, Query{})
		if len(p.Results) != 1 || p.PageSize != 25 || p.Next != "" {
			t.Fatalf("%+v", p)
		}
		v := p.Results[0]
		at, err := time.Parse(time.RFC3339Nano, v.At)
		if err != nil || at.Before(before) || at.After(time.Now().Add(time.Minute)) || at.Location() != time.UTC {
			t.Errorf("at %q, %v", v.At, err)
		}
		v.ID, v.At = "", ""
		got, _ := json.Marshal(v)
		want := `{"id":"","at":"","kind":"RoleGranted","actor":"Member:20","address":"2001:db8::1","member":"Member:1001","project":"Scope:0","asset":"Scope:0","role":"Role:4","count":1}`
		if string(got) != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	})
}

// TestARollbackLeavesNoEvent checks that an event exists only if its transaction is committed.
func TestARollbackLeavesNoEvent(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		broken := errors.New("broken")
		err := d.Write(t.Context(), func(tx *db.Tx) error {
			if err := Record(t.Context(), tx, named(1)); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if p := page(t, newLog(d), everything, Query{}); len(p.Results) != 0 {
			t.Errorf("%+v", p)
		}
	})
}

// TestPagesAreStableWhileEventsArrive checks that the pages show exactly the events that existed
// when the first page was read, each event once, although more events arrive.
func TestPagesAreStableWhileEventsArrive(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		for i := range 4 {
			record(t, d, named(i))
		}
		record(t, d, named(4), named(4), named(4)) // three events of the same instant
		var seen []string
		q := Query{Page: "2"}
		for n := 10; ; n++ {
			p := page(t, l, everything, q)
			seen = append(seen, names(p))
			if q.After = p.Next; q.After == "" {
				break
			}
			record(t, d, named(n), named(n))
		}
		if got, want := strings.Join(seen, " "), "4 4 4 3 2 1 0"; got != want {
			t.Errorf("read %s, want %s", got, want)
		}
		if got := names(page(t, l, everything, Query{Page: "4"})); got != "12 12 11 11" {
			t.Errorf("from the start: %s", got)
		}
	})
}

// TestEventsOfProjects checks that an administrator of projects reads their events, and no
// others.
func TestEventsOfProjects(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		for i, project := range []*int64{nil, In(0), In(1005), In(1006), In(1007)} {
			e := named(i)
			e.Project = project
			record(t, d, e)
		}
		if got := names(page(t, l, Sight{Scopes: []int64{1005, 1007}}, Query{})); got != "4 2" {
			t.Errorf("of two projects: %s", got)
		}
		if got := names(page(t, l, Sight{Scopes: []int64{1005, 1007}}, Query{Project: "Scope:1006"})); got != "" {
			t.Errorf("of another one: %s", got)
		}
		if _, err := l.Events(t.Context(), Sight{}, Query{}); fault.KindOf(err) != fault.Denied {
			t.Errorf("of none: %v", err)
		}
		if got := names(page(t, l, everything, Query{})); got != "4 3 2 1 0" {
			t.Errorf("all: %s", got)
		}
	})
}

func TestFilters(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		record(t, d, Event{Kind: SignIn, Actor: 20, Member: 20, Detail: Detail{Subscription: "a"}})
		record(t, d, Event{Kind: TokenCreated, Actor: 20, Member: 1001, Detail: Detail{Subscription: "b"}})
		record(t, d, Event{Kind: Denied, Actor: 1001, Project: In(1005), Detail: Detail{Subscription: "c"}})
		all := page(t, l, everything, Query{})
		at := func(i int) string { return all.Results[2-i].At }
		for _, c := range []struct {
			q    Query
			want string
		}{
			{Query{Kind: "SignIn"}, "a"},
			{Query{Kind: "Denied, SignIn"}, "c a"},
			{Query{Kind: "Imported"}, ""},
			{Query{Actor: "Member:20"}, "b a"},
			{Query{Member: "Member:1001"}, "b"},
			{Query{Project: "Scope:1005"}, "c"},
			{Query{Since: at(1)}, "c b"},
			{Query{Until: at(1)}, "a"},
			{Query{Since: at(0), Until: at(2), Actor: "Member:20", Page: "1"}, "b"},
		} {
			if got := names(page(t, l, everything, c.q)); got != c.want {
				t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		for _, q := range []Query{
			{Page: "0"},
			{Page: "1001"},
			{Page: "many"},
			{After: "x"},
			{After: "AAAA"},
			{Kind: "Nothing"},
			{Kind: strings.Repeat("SignIn,", 20) + "SignIn"},
			{Actor: "Story:1"},
			{Member: "20"},
			{Member: "Member:20:7"},
			{Project: "NULL"},
			{Since: "yesterday"},
			{Until: "1"},
		} {
			if _, err := l.Events(t.Context(), everything, q); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%+v: %v", q, err)
			}
		}
	})
}

func TestPlaces(t *testing.T) {
	for _, p := range []place{{}, {1, 2}, {math.MaxInt64, math.MaxInt64}, {-1, -2}} {
		if got, ok := parsePlace(p.String()); !ok || got != p {
			t.Errorf("%v: %v %v", p, got, ok)
		}
	}
}

// TestNotedEventsAreWritten checks that noted events are written with the database's clock and
// the projects of their assets.
func TestNotedEventsAreWritten(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		_, err := d.Exec(t.Context(), `INSERT INTO asset (id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, scope_id)
			VALUES (2001, 1, 64, 1, 1, 1, 1, 20, 1, 20, 1005)`)
		if err != nil {
			t.Fatal(err)
		}
		wrong := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) // a process with a wrong clock
		l := New(d, meta.Default(), Options{Now: func() time.Time { return wrong }})
		ctx := With(t.Context(), Origin{Member: 1001, Address: "192.0.2.1"})
		l.Note(ctx, Event{Kind: Denied, Asset: oid.OID{Type: "Story", ID: 2001}})
		l.Note(ctx, Event{Kind: Denied, Asset: oid.OID{Type: "Story", ID: 2002}})
		wrong = wrong.Add(time.Second)
		l.Note(ctx, Event{Kind: Denied, Asset: oid.OID{Type: "Story", ID: 2002}})
		if err := l.Flush(ctx); err != nil {
			t.Fatal(err)
		}
		p := page(t, l, everything, Query{Since: time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)})
		slices.SortFunc(p.Results, func(a, b View) int { return strings.Compare(a.Asset, b.Asset) })
		if len(p.Results) != 2 {
			t.Fatalf("%+v", p)
		}
		a, b := p.Results[0], p.Results[1]
		if a.Project != "Scope:1005" || a.Actor != "Member:1001" || a.Address != "192.0.2.1" || a.Count != 1 || a.Since != "" {
			t.Errorf("the first: %+v", a)
		}
		if b.Project != "" || b.Count != 2 || b.Since == "" || b.Since >= b.At {
			t.Errorf("the second: %+v", b)
		}
	})
}

// TestWhatCannotBeWrittenIsKept checks that an event that could not be written is written later,
// and only once.
func TestWhatCannotBeWrittenIsKept(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		l.Note(t.Context(), refused("192.0.2.1", "wrong password"))
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if !l.flush(ended, false) || l.Flush(ended) == nil {
			t.Error("written in a context that has ended")
		}
		l.Note(t.Context(), refused("192.0.2.1", "wrong password"))
		for range 2 {
			if l.flush(t.Context(), true) {
				t.Error("not written")
			}
		}
		if err := l.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if p := page(t, l, everything, Query{}); len(p.Results) != 2 || p.Results[0].Count != 1 || p.Results[1].Count != 1 {
			t.Errorf("%+v", p)
		}
	})
}

// TestRunWritesEachSecondAndAtTheEnd checks that Run writes every second, and at its end all
// remaining events.
func TestRunWritesEachSecondAndAtTheEnd(t *testing.T) {
	d := testdb.SQLite(t)
	count := func(l *Log) int { return len(page(t, l, everything, Query{}).Results) }
	var l *Log
	synctest.Test(t, func(t *testing.T) {
		l = newLog(d)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		l.Note(ctx, refused("192.0.2.1", "wrong password"))
		go func() { done <- l.Run(ctx) }()
		time.Sleep(1500 * time.Millisecond)
		l.Note(ctx, refused("192.0.2.2", "wrong password"))
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if n := count(l); n != 2 {
		t.Errorf("%d rows", n)
	}
}

// TestEventsOfOneTimeAreInOrder checks that events of the same time stay in order. A reader can then
// see which role of a member is the last.
func TestEventsOfOneTimeAreInOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		events := make([]Event, 20)
		for i := range events {
			events[i] = named(i)
		}
		record(t, d, events...)
		got := page(t, newLog(d), everything, Query{}).Results
		for i, e := range got {
			if want := events[len(events)-1-i].Detail.Subscription; e.Subscription != want {
				t.Fatalf("event %d is %q, want %q", i, e.Subscription, want)
			}
		}
	})
}

func TestPruneKeepsByAge(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		events := make([]Event, 3*pruneRows)
		for i := range events {
			events[i] = named(i)
		}
		record(t, d, events...)
		const hour = int64(time.Hour / time.Microsecond)
		age := func(condition string, hours int64) {
			if _, err := d.Exec(t.Context(), `UPDATE audit_trail SET at = at - ? WHERE `+condition, hours*hour); err != nil {
				t.Fatal(err)
			}
		}
		age(`1 = 1`, 2)
		age(`id % 2 = 0`, 23)
		record(t, d, named(9999))
		if err := Prune(t.Context(), d, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		var old, left int
		err := d.QueryRow(t.Context(), `SELECT COUNT(CASE WHEN at < ? THEN 1 END), COUNT(*) FROM audit_trail`, time.Now().UnixMicro()-24*hour).Scan(&old, &left)
		if err != nil || old != 0 || left < pruneRows || left > 2*pruneRows {
			t.Errorf("%d old ones of %d are left, %v", old, left, err)
		}
		if err := Prune(t.Context(), d, time.Hour); err != nil {
			t.Fatal(err)
		}
		if got := names(page(t, newLog(d), everything, Query{})); got != "9999" {
			t.Errorf("left: %s", got)
		}
	})
}
