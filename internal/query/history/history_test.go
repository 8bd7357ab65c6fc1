package history_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/activity"
	"github.com/alds-dev/alds/internal/events/feed"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/operate/check"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) {
	testdb.Judged(m,
		"UPDATE audit SET fan_state = ?",
	)
}

var model = meta.Default()

// all is a value of Keep with which the pruner removes all history that nothing needs.
const all = time.Microsecond

// site is a database with the engines that write and read it.
type site struct {
	*testing.T
	d        *db.DB
	contents *blob.Store
	log      *feed.Log
	finder   *find.Finder
	bulk     *bulk.Engine
}

func each(t *testing.T, test func(s *site)) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		if err := seed.Run(t.Context(), d, model); err != nil {
			t.Fatal(err)
		}
		s := &site{T: t, d: d, contents: blob.New(d, blob.Options{Grace: time.Microsecond}), log: feed.NewLog(d, nil), finder: find.New(d, model)}
		e := asset.New(d, model, nil, nil)
		e.Contents, e.MaxContent = s.contents, 1<<20
		s.bulk = bulk.New(e, s.finder)
		test(s)
	})
}

// write runs each command as a separate write. It marks the writes as fanned out, so that the
// pruner does not wait for them.
func (s *site) write(commands ...string) {
	s.Helper()
	for _, body := range commands {
		s.commented("", body)
	}
}

func (s *site) commented(comment, body string) {
	s.Helper()
	got, err := s.bulk.Run(s.Context(), auth.System, bulk.Request{Body: []byte(body), Comment: comment})
	if err != nil || !strings.Contains(string(got), `"commandFailures":{"commands":[],`) {
		s.Fatalf("%s: %v %s", body, err, got)
	}
	s.exec(`UPDATE audit SET fan_state = 1`)
}

func (s *site) exec(query string, args ...any) {
	s.Helper()
	testdb.Exec(s, s.d, query, args...)
}

func (s *site) pruner(keep time.Duration) *history.Pruner {
	return history.New(s.d, history.Options{
		Keep: keep, Model: func() *meta.Model { return model }, Contents: s.contents,
		Position: s.log.AdvanceSome,
	})
}

// prune removes all history that nothing needs, and checks the database.
func (s *site) prune() {
	s.Helper()
	if err := s.pruner(all).Run(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.sound()
}

func (s *site) sound() {
	s.Helper()
	found, err := check.Run(s.Context(), s.d, model)
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range found {
		s.Errorf("api check: %s", f)
	}
}

// expect checks the rows of a query, which has one column. want has one line for each row.
func (s *site) expect(want, query string, args ...any) {
	s.Helper()
	got, err := db.Column[string](s.Context(), s.d, query, args...)
	if err != nil {
		s.Fatal(err)
	}
	if have := strings.Join(got, "\n"); have != want {
		s.Errorf("%s\n got %q\nwant %q", query, have, want)
	}
}

// rows returns the result of a query of the API.
func (s *site) rows(body string) (string, error) {
	nodes, err := document.Parse([]byte(body), false)
	if err != nil {
		return "", err
	}
	r, err := query.FromDoc(&nodes[0])
	if err != nil {
		return "", err
	}
	b, err := s.finder.Rows(s.Context(), nil, auth.System, r, nil)
	return string(b), err
}

// versions selects the versions of an asset, each as its name and its state.
const versions = `SELECT CONCAT(name, ' ', state) FROM asset_version WHERE id = ? ORDER BY moment`

func TestWhatIsStillNeededStays(t *testing.T) {
	for _, c := range []struct {
		name, comment string
		then          []string
		left          string
		after         []string
		leftAfter     string
	}{
		{name: "an open asset keeps what it is now", then: []string{`"update": {"Name": "b"}`, `"update": {"Name": "c"}`}, left: "c 64"},
		{name: "what was closed keeps the versions that tell since when", then: []string{
			`"update": {"Name": "b"}`, `"execute": "Close"`, `"update": {"Name": "c"}`, `"update": {"Name": "d"}`,
		}, left: "b 128\nc 128\nd 128", after: []string{`"execute": "Reactivate"`}, leftAfter: "d 64"},
		{name: "what is deleted keeps what it was before", then: []string{
			`"update": {"Name": "b"}`, `"update": {"Name": "c"}`, `"execute": "Delete"`,
		}, left: "c 64\nc 255", after: []string{`"execute": "Undelete"`, `"update": {"Name": "d"}`}, leftAfter: "d 64"},
		{name: "what was created with a comment keeps that", comment: "from the workshop", then: []string{`"update": {"Name": "b"}`, `"update": {"Name": "c"}`}, left: "a 64\nc 64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(s *site) {
				s.commented(c.comment, `{"AssetType": "Story", "Name": "a", "Scope": "Scope:0"}`)
				for _, then := range c.then {
					s.write(`{"oid": "Story:1001", ` + then + `}`)
				}
				now := `{"from": "Story:1001", "select": ["Name", "ClosedDate", "ClosedBy", "CreateComment", "CreateDate", "CreatedBy", "ChangeDate", "AssetState"], "filter": ["IsDeleted='true'|IsDeleted='false'"]}`
				before, err := s.rows(now)
				if err != nil {
					s.Fatal(err)
				}
				s.prune()
				s.expect(c.left, versions, 1001)
				if got, err := s.rows(now); err != nil || got != before {
					s.Errorf("%s\nwas %s: %v", got, before, err)
				}
				s.expect("0", `SELECT COUNT(*) FROM audit a WHERE id > 0 AND NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.audit_id = a.id)`)
				s.expect("1", `SELECT COUNT(*) FROM moment_stamp`)
				for _, then := range c.after {
					s.write(`{"oid": "Story:1001", ` + then + `}`)
				}
				if c.after != nil {
					s.prune()
					s.expect(c.leftAfter, versions, 1001)
				}
			})
		})
	}
}

func TestEndedLinksAndValuesGo(t *testing.T) {
	each(t, func(s *site) {
		s.write(
			`[{"AssetType": "Story", "Name": "a", "Scope": "Scope:0", "Owners": "Member:20", "TaggedWith": ["x", "y"]}, {"AssetType": "Story", "Name": "b", "Scope": "Scope:0", "Dependencies": "Story:1001"}]`,
			`{"oid": "Story:1001", "update": {"Owners": {"remove": "Member:20"}, "TaggedWith": {"remove": "x"}, "Dependants": {"remove": "Story:1002"}}}`,
			`{"oid": "Story:1001", "update": {"Name": "c"}}`,
		)
		s.expect("3", `SELECT (SELECT COUNT(*) FROM asset_link WHERE from_id IN (1001, 1002) AND until_moment < ?) + (SELECT COUNT(*) FROM asset_value WHERE until_moment < ?)`, db.Forever, db.Forever)
		s.prune()
		s.expect("0", `SELECT (SELECT COUNT(*) FROM asset_link WHERE from_id IN (1001, 1002) AND until_moment < ?) + (SELECT COUNT(*) FROM asset_value WHERE until_moment < ?)`, db.Forever, db.Forever)
		s.expect("y", `SELECT value FROM asset_value`)
		s.expect("b 1", `SELECT CONCAT(name, ' ', linked) FROM asset_version WHERE id = 1002`) // 1: the number of links is not known
	})
}

func TestNothingGoesThatWaitsForItsFanOut(t *testing.T) {
	each(t, func(s *site) {
		s.write(`{"AssetType": "Story", "Name": "a", "Scope": "Scope:0"}`, `{"oid": "Story:1001", "update": {"Name": "b"}}`, `{"oid": "Story:1001", "update": {"Name": "c"}}`)
		s.write(`{"oid": "Story:1001", "update": {"Name": "d"}}`)
		s.exec(`UPDATE audit SET fan_state = 0 WHERE last_moment >= 1003`)
		s.prune()
		s.expect("b 64\nc 64\nd 64", versions, 1001) // c is the change that waits, and b is the version before it
		s.exec(`UPDATE audit SET fan_state = 1`)
		s.prune()
		s.expect("d 64", versions, 1001)
	})
}

func TestWithoutASettingNothingGoes(t *testing.T) {
	each(t, func(s *site) {
		s.write(`{"AssetType": "Story", "Name": "a", "Scope": "Scope:0"}`, `{"oid": "Story:1001", "update": {"Name": "b"}}`)
		for _, keep := range []time.Duration{0, time.Hour} {
			if err := s.pruner(keep).Run(s.Context()); err != nil {
				t.Fatal(err)
			}
			s.expect("a 64\nb 64", versions, 1001)
		}
	})
}

// TestAtOnceAndInterrupted runs several pruners at once and interrupts them many times. The result
// must be the same as with one pruner.
func TestAtOnceAndInterrupted(t *testing.T) {
	each(t, func(s *site) {
		const stories, changes = 40, 30
		var made []string
		for range stories {
			made = append(made, `{"AssetType": "Story", "Name": "a", "Scope": "Scope:0", "Owners": "Member:20"}`)
		}
		s.write("[" + strings.Join(made, ",") + "]")
		for n := range changes {
			owner := []string{"remove", "add"}[n%2]
			s.write(fmt.Sprintf(`{"from": "Story", "where": {"Name": "%c"}, "update": {"Name": "%c", "Owners": {"%s": "Member:20"}}}`, 'a'+n, 'a'+n+1, owner))
		}
		for n := 0; n < 30; n++ {
			ctx, cancel := context.WithCancel(s.Context())
			var both sync.WaitGroup
			for range 3 {
				both.Go(func() {
					if err := s.pruner(all).Run(ctx); err != nil && ctx.Err() == nil {
						t.Error(err)
					}
				})
			}
			time.AfterFunc(time.Duration(n)*time.Millisecond, cancel) // interrupts later than in the round before
			both.Wait()
			cancel()
		}
		for left := -1; left != stories; { // a run ends after runFor, so one run may not remove everything
			before := left
			if err := s.d.QueryRow(s.Context(), `SELECT COUNT(*) FROM asset_version WHERE id > 1000`).Scan(&left); err != nil || left == before {
				t.Fatalf("%d versions are left, want %d; %v", left, stories, err)
			}
			s.prune()
		}
		s.expect(fmt.Sprint(stories), `SELECT COUNT(*) FROM asset_link WHERE from_id > 1000 AND relation IN (SELECT relation FROM asset_link WHERE from_id = 1001)`)
	})
}

func TestContentsThatOnlyRemovedVersionsHeldGo(t *testing.T) {
	each(t, func(s *site) {
		content := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
		s.write(
			`[{"AssetType": "Image", "ContentType": "image/png", "Content": "`+content("first")+`"}, {"AssetType": "Image", "ContentType": "image/png", "Content": "`+content("shared")+`"}, `+
				`{"AssetType": "Image", "ContentType": "image/png", "Content": "`+content("shared")+`"}]`,
			`[{"oid": "Image:1001", "update": {"Content": "`+content("second")+`"}}, {"oid": "Image:1002", "update": {"Content": "`+content("third")+`"}}]`,
		)
		s.expect("4", `SELECT COUNT(*) FROM blob_content WHERE kept = 1`)
		s.prune() // marks the contents as doubted; only a run after the grace period decides about them
		testdb.Tick(s.T, s.d)
		s.prune()
		s.expect("3 1", `SELECT CONCAT(SUM(kept = 1), ' ', SUM(kept = 0)) FROM blob_content`)
		s.expect(blob.RefOf([]byte("first")).Hash, `SELECT hash FROM blob_content WHERE kept = 0`)
	})
}

// TestTheSearchForHoldersGoesOn checks that a search for versions which refer to contents continues
// in later runs. Contents that are doubted again meanwhile stay doubted.
func TestTheSearchForHoldersGoesOn(t *testing.T) {
	each(t, func(s *site) {
		content := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
		s.write(
			`[{"AssetType": "Image", "ContentType": "image/png", "Content": "`+content("first")+`"}, {"AssetType": "Image", "ContentType": "image/png", "Content": "`+content("again")+`"}]`,
			`[{"oid": "Image:1001", "update": {"Content": "`+content("second")+`"}}, {"oid": "Image:1002", "update": {"Content": "`+content("third")+`"}}]`,
		)
		if err := s.pruner(0).Run(s.Context()); err != nil {
			s.Fatal(err)
		}
		s.exec(`UPDATE blob_content SET kept = 2 WHERE hash IN (?, ?)`, blob.RefOf([]byte("first")).Hash, blob.RefOf([]byte("again")).Hash)
		testdb.Tick(s.T, s.d)
		s.exec(`DELETE FROM asset_version WHERE id IN (1001, 1002) AND until_moment < 99999`)
		p, steps, decided := s.pruner(all), 0, 0
		for ; decided == 0 && steps < 100; steps++ {
			run, end := context.WithCancel(s.Context()) // each step has a separate run
			if _, err := p.SettleStep(run); err != nil {
				s.Fatal(err)
			}
			end()
			if steps == 0 {
				err := s.d.Write(s.Context(), func(tx *db.Tx) error {
					return s.contents.Doubt(s.Context(), tx, []string{blob.RefOf([]byte("again")).Hash})
				})
				if err != nil {
					s.Fatal(err)
				}
			}
			if err := s.d.QueryRow(s.Context(), `SELECT COUNT(*) FROM blob_content WHERE kept = 0`).Scan(&decided); err != nil {
				s.Fatal(err)
			}
		}
		if steps < 3 {
			s.Errorf("the search has %d steps", steps)
		}
		s.expect(blob.RefOf([]byte("first")).Hash, `SELECT hash FROM blob_content WHERE kept = 0`)
		s.expect(blob.RefOf([]byte("again")).Hash, `SELECT hash FROM blob_content WHERE kept = 2`)
	})
}

// TestTextsThatOnlyRemovedVersionsHadGo checks that a text is removed with the last version that
// refers to it.
func TestTextsThatOnlyRemovedVersionsHadGo(t *testing.T) {
	each(t, func(s *site) {
		long := strings.Repeat("x", 200)
		n := 0
		text := func(begin string) { // writes two versions with the text
			n++
			s.write(`[{"oid": "Story:1001", "update": {"Description": "`+begin+long+`"}}]`, fmt.Sprintf(`[{"oid": "Story:1001", "update": {"Estimate": %d}}]`, n))
		}
		s.write(`[{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}]`)
		for _, begin := range []string{"one ", "two ", "three ", "two "} {
			text(begin)
		}
		const texts = `SELECT SUBSTR(text, 1, 3) FROM asset_text WHERE asset_id = 1001 ORDER BY text`
		s.expect("one\nthr\ntwo", texts)
		s.prune()
		s.expect("two", texts)
		text("one ")
		s.expect("one\ntwo", texts)
		s.sound()
	})
}

func TestReadsOfWhatIsGoneAreRefused(t *testing.T) {
	each(t, func(s *site) {
		s.write(`{"AssetType": "Story", "Name": "a", "Scope": "Scope:0"}`, `{"oid": "Story:1001", "update": {"Name": "b"}}`)
		log := feed.New(s.d, model, feed.Options{Log: s.log, Find: s.finder, Actors: nil})
		page := func(after string) (feed.Page, error) {
			return log.Page(s.Context(), auth.System, feed.Request{After: after})
		}
		first, err := page("0")
		if err != nil || len(first.Events) != 2 {
			t.Fatalf("%d events: %v", len(first.Events), err)
		}
		s.prune()
		h, err := history.Of(s.Context(), s.d)
		if err != nil || h.Moment != 1002 {
			t.Fatalf("%+v %v", h, err)
		}
		s.write(`{"oid": "Story:1001", "update": {"Name": "c"}}`)
		refuse := func(what string, err error) {
			t.Helper()
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "kept from "+h.Since()+" on") {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, after := range []string{"0", "1001", first.Events[0].Next.String()} {
			_, err := page(after)
			refuse("the feed behind "+after, err)
		}
		for _, after := range []string{"1002", first.Events[1].Next.String(), first.Next.String()} {
			if p, err := page(after); err != nil || len(p.Events) != 1 || !strings.Contains(string(p.Events[0].Text), `"old":"b"`) {
				t.Errorf("the feed behind %s, where nothing is gone: %d events, %v", after, len(p.Events), err)
			}
		}
		if _, err = page("77"); err == nil {
			t.Error("a sequenceId that never was")
		}
		_, err = s.rows(`{"from": "Story:1001", "asof": "` + time.UnixMicro(h.At-1000).UTC().Format("2006-01-02T15:04:05.000Z") + `"}`)
		refuse("as of before", err)
		_, err = s.rows(`{"from": "Story:1001:1001", "select": ["Name"]}`)
		refuse("a version that is gone", err)
		for _, of := range []string{`"Story:1001:1002", "select": ["Name"]`, `"Story:1001", "select": ["Name"], "asof": "` + h.Since() + `"`} {
			if got, err := s.rows(`{"from": ` + of + `}`); err != nil || got != `[{"_oid":"Story:1001:1002","Name":"b"}]` {
				t.Errorf("%s: %s %v", of, got, err)
			}
		}
		if got, err := s.rows(`{"from": "Story:1001", "select": ["Name", "Prior.Name"], "asof": "All"}`); err != nil ||
			got != `[{"_oid":"Story:1001:1002","Name":"b","Prior.Name":null},{"_oid":"Story:1001:1003","Name":"c","Prior.Name":"b"}]` {
			t.Errorf("all versions: %s %v", got, err)
		}
		s.stream(refuse)
	})
}

// stream reads the activity of the story.
func (s *site) stream(refuse func(string, error)) {
	s.Helper()
	stream := activity.New(s.d, model, s.finder)
	a, err := stream.Stream(s.Context(), auth.System, activity.Request{OID: "Story:1001"})
	if err != nil || strings.Count(string(a.Body), `"body"`) != 1 || a.Next != 0 {
		s.Errorf("activity: %s %v", a.Body, err)
	}
	for _, r := range []activity.Request{{Anchor: "2020-01-01"}, {Anchor: "2020-01-01", Direction: "forward"}, {After: "1001", Direction: "forward"}} {
		r.OID = "Story:1001"
		_, err := stream.Stream(s.Context(), auth.System, r)
		refuse(fmt.Sprintf("activity %+v", r), err)
	}
}

var errNever = errors.New("never")

// TestWithoutPlacesInTheFeedNothingGoes checks that nothing is removed if writes get no places in the
// feed, so that the horizon cannot be moved.
func TestWithoutPlacesInTheFeedNothingGoes(t *testing.T) {
	each(t, func(s *site) {
		s.write(`{"AssetType": "Story", "Name": "a", "Scope": "Scope:0"}`, `{"oid": "Story:1001", "update": {"Name": "b"}}`)
		for _, position := range []func(context.Context) (bool, error){
			func(context.Context) (bool, error) { return false, errNever },
			func(context.Context) (bool, error) { return false, nil },
		} {
			p := history.New(s.d, history.Options{Keep: all, Model: func() *meta.Model { return model }, Position: position})
			if err := p.Run(s.Context()); err == nil {
				t.Error("no error")
			}
			s.expect("a 64\nb 64", versions, 1001)
		}
	})
}
