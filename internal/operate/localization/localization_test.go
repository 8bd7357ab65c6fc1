package localization

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/localizer"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

var words = localizer.New(meta.Default(), "Scrum")

// clock is a clock that moves only when the test calls add.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// process acts as a separate process. It has its own service and its own clock.
type process struct {
	*testing.T
	*Service
	texts *Texts
	clock *clock
}

func newProcess(t *testing.T, d *db.DB) process {
	c := &clock{at: time.Unix(1e9, 0)}
	s := New(d, words.Languages(), Options{Now: c.now})
	return process{t, s, s.With(words), c}
}

func (p process) of(accept, tag string) string {
	p.Helper()
	x, err := p.texts.In(p.Context(), accept)
	if err != nil {
		p.Fatal(err)
	}
	return x.Of(tag)
}

func (p process) change(body string) (List, error) {
	return p.Change(p.Context(), auth.System, []byte(body), false)
}

func (p process) mustChange(body string) {
	p.Helper()
	if _, err := p.change(body); err != nil {
		p.Fatal(err)
	}
}

// TestEveryProcessHasWhatIsSet checks when a process uses a new text. The process that sets
// the text uses it immediately. Another process uses it when its own texts are freshFor old.
func TestEveryProcessHasWhatIsSet(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		here, there := newProcess(t, d), newProcess(t, d)
		for _, p := range []process{here, there} {
			if got := p.of("", "Defect"); got != "Defect" {
				t.Fatal(got)
			}
		}
		here.mustChange(`[{"tag": "AssetType'Defect", "text": "Bug"}, {"tag": "AssetType'Defect", "language": "de", "text": "Wanze"}]`)
		if got := here.of("", "Defect") + here.of("de", "Defect") + here.of("fr", "Defect"); got != "BugWanzeBug" {
			t.Errorf("here: %s", got)
		}
		if got := there.of("", "Defect"); got != "Defect" {
			t.Errorf("there, before freshFor has passed: %s", got)
		}
		there.clock.add(freshFor)
		if got := there.of("", "Defect") + there.of("de", "Defect"); got != "BugWanze" {
			t.Errorf("there: %s", got)
		}
		there.mustChange(`{"tag": "AssetType'Defect", "text": null}`)
		here.clock.add(freshFor)
		if got := here.of("", "Defect") + here.of("de", "Defect"); got != "DefectWanze" {
			t.Errorf("removed: %s", got)
		}
	})
}

// TestTextsAreWhatWasSent checks three rules: tags that differ only in case or accents are
// different tags, texts may contain any characters, and the list is sorted.
func TestTextsAreWhatWasSent(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		p := newProcess(t, d)
		set := List{Type: "Localization", Texts: []Text{{"a'B", "", "1"}, {"a'b", "", "2"}, {"a'b", "de", " 🐞 <b>\n"}, {"á'b", "", "3"}}}
		done, err := p.change(`[{"tag": "á'b", "text": "3"}, {"tag": "a'b", "text": "2", "language": null}, {"tag": "a'B", "text": "1"}, {"tag": "a'b", "language": "de", "text": " 🐞 <b>\n"}]`)
		if diff := cmp.Diff(set, done); diff != "" || err != nil {
			t.Error(diff, err)
		}
		listed, err := p.List(t.Context(), auth.System)
		if diff := cmp.Diff(set, listed); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// TestRefusals checks that an invalid request changes nothing.
func TestRefusals(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		p := newProcess(t, d)
		p.mustChange(`{"tag": "a", "text": "1"}`)
		long := strings.Repeat("é", localizer.MaxText)
		for body, want := range map[string]string{
			`[{"tag": "b", "text": "1"}, {"tag": "b", "text": "2"}]`: "twice",
			`{"tag": "b"}`:                                 "required",
			`{"text": "b"}`:                                "required",
			`{"tag": " b", "text": "1"}`:                   "tag must be",
			`{"tag": 1, "text": "1"}`:                      "tag must be",
			`{"tag": "b,c", "text": "1"}`:                  "tag must be",
			`{"tag": "b", "text": ""}`:                     "text must be",
			`{"tag": "b", "text": 1}`:                      "text must be",
			`{"tag": "b", "text": "` + long + `é"}`:        "text must be",
			`{"tag": "b", "text": "1", "language": "fr"}`:  "language must be",
			`{"tag": "b", "text": "1", "languages": "de"}`: "Invalid key",
			`[[]]`: "object",
			`"b"`:  "object",
			`[` + strings.Repeat(`{"tag": "b", "text": "1"},`, maxChanges) + `{"tag": "c", "text": "1"}]`: "More than",
		} {
			_, err := p.change(body)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), want) {
				t.Errorf("%.60s: %v", body, err)
			}
		}
		member := auth.Actor{Member: 1001}
		if _, err := p.Change(t.Context(), member, []byte(`{"tag": "b", "text": "1"}`), false); fault.KindOf(err) != fault.Denied {
			t.Errorf("a member: %v", err)
		}
		if _, err := p.List(t.Context(), member); fault.KindOf(err) != fault.Denied {
			t.Errorf("a member reads: %v", err)
		}
		if l, err := p.List(t.Context(), auth.System); err != nil || len(l.Texts) != 1 {
			t.Errorf("%v, %v", l, err)
		}
		p.mustChange(`{"tag": "b", "text": "` + long + `"}`)
	})
}

// TestBounds checks the maximum number and total size of the texts.
func TestBounds(t *testing.T) {
	many := make([]localizer.Override, maxTexts)
	for i := range many {
		many[i] = localizer.Override{Tag: fmt.Sprint("t", i), Text: "1"}
	}
	one := []localizer.Override{{Tag: "more", Text: "1"}}
	if _, _, err := applied(many, one); fault.KindOf(err) != fault.Invalid {
		t.Errorf("one text above the limit: %v", err)
	}
	if after, changed, err := applied(many, []localizer.Override{{Tag: "t7"}, one[0], {Tag: "none"}, {Tag: "t8", Text: "1"}}); err != nil || len(after) != maxTexts || len(changed) != 2 {
		t.Errorf("one text removed and one added: %d texts, changed %v, %v", len(after), changed, err)
	}
	var long []localizer.Override
	for i := range maxBytes/localizer.MaxText + 1 {
		long = append(long, localizer.Override{Tag: fmt.Sprint("t", i), Text: strings.Repeat("x", localizer.MaxText)})
	}
	if _, _, err := applied(nil, long); fault.KindOf(err) != fault.Invalid {
		t.Errorf("texts above the total size: %v", err)
	}
}

// TestChangesAreNoted checks that the audit records which texts a request changed. A request that
// changes nothing must record nothing.
func TestChangesAreNoted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		p := newProcess(t, d)
		p.mustChange(`[{"tag": "a", "text": "1"}, {"tag": "b", "text": "1"}]`)
		p.mustChange(`[{"tag": "a", "text": "1"}, {"tag": "c", "text": null}]`)
		p.mustChange(`[]`)
		p.mustChange(`[{"tag": "a", "text": "2"}, {"tag": "b", "text": "1"}]`)
		got, err := db.Column[string](t.Context(), d, `SELECT detail FROM audit_trail WHERE kind = 'LocalizationChanged' ORDER BY at, id`)
		if diff := cmp.Diff([]string{`{"changed":["a","b"]}`, `{"changed":["a"]}`}, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

// TestOneReadsForAll checks that a process never gets the old text after its change has returned,
// even while other goroutines read.
func TestOneReadsForAll(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		p := newProcess(t, d)
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range 8 {
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if _, err := p.texts.In(t.Context(), ""); err != nil {
							t.Error(err)
							return
						}
					}
				}
			})
		}
		for i := range 20 {
			want := fmt.Sprint("text ", i)
			p.mustChange(`{"tag": "a", "text": "` + want + `"}`)
			if got := p.of("", "a"); got != want {
				t.Errorf("the text is %s after it was set to %s", got, want)
			}
		}
		close(stop)
		all.Wait()
	})
}

// TestNoDatabase requests a text while another read waits for the database. When the context of the
// request ends, the request must return an error of the kind fault.Transient.
func TestNoDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		p := newProcess(t, d)
		p.reading <- struct{}{} // acts as a read in another goroutine that never ends
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.texts.In(ctx, ""); fault.KindOf(err) != fault.Transient {
			t.Errorf("%v", err)
		}
	})
}
