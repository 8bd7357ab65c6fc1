package projects

import (
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/web/ui"
)

func TestBranches(t *testing.T) {
	row := func(oid, parent string) projectRow { return projectRow{Oid: oid, Parent: ui.Reference{Oid: parent}} }
	roots := branches([]projectRow{row("Scope:3", "Scope:2"), row("Scope:1", ui.NoAsset), row("Scope:2", "Scope:1"), row("Scope:9", "Scope:8")})
	if len(roots) != 2 || roots[0].Oid != "Scope:1" || roots[1].Oid != "Scope:9" {
		t.Fatalf("the roots are %v", roots)
	}
	if deep := roots[0].Below[0].Below[0]; deep.Oid != "Scope:3" || deep.Depth != 2 {
		t.Errorf("below them is %v", deep)
	}
}

func TestIsItem(t *testing.T) {
	for text, want := range map[string]bool{
		"Story:1": true, "Defect:1": true, "Scope:1": false, "Story:01": false, "Story:1:2": false, "Story:": false, "Story:x": false, "Story:1'": false, "": false, "Story:0": true,
	} {
		if got := isItem(text); got != want {
			t.Errorf("isItem(%q) is %v", text, got)
		}
	}
}

func TestFilter(t *testing.T) {
	for query, ok := range map[string]bool{
		"": true, "type=Story&status=none&sprint=Timebox:1&sort=-name&page=3&owner=x": true, "type=Member": false,
		"status=Story:1": false, "sprint=x'": false, "sort=owners": false, "sort=-": false, "page=0": false, "page=x": false, "page=999999999": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?"+query, nil)
		if _, err := readFilter((&ui.Visit{Request: r})); (err == nil) != ok {
			t.Errorf("%q: %v", query, err)
		}
	}
	f := filter{Find: "a b", Sort: "name", Page: 2, Closed: true}
	name, estimate, priority := columns[1], columns[5], columns[8]
	for got, want := range map[string]string{
		f.By(name): "?closed=1&find=a+b&sort=-name", f.By(estimate): "?closed=1&find=a+b&sort=-estimate", f.ByRank(): "?closed=1&find=a+b",
		f.By(priority): "?closed=1&find=a+b&sort=-priority", f.Direction(name): "ascending", f.Direction(estimate): "", filter{Sort: "-estimate"}.By(estimate): "?sort=estimate",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// hour returns an instant of the day on which the history tests take place.
func hour(h int) time.Time { return time.Date(2026, 1, 1, h, 0, 0, 0, time.UTC) }

func TestInEffect(t *testing.T) {
	instants := []time.Time{hour(1), hour(2), hour(3)}
	for _, c := range []struct {
		from, to    time.Time
		first, past int
	}{
		{hour(0), time.Time{}, 0, 3},
		{hour(2), time.Time{}, 1, 3},
		{hour(2), hour(3), 1, 2},
		{hour(4), time.Time{}, 3, 3},
		{hour(0), hour(1), 0, 0},
		{hour(2).Add(1), hour(3).Add(-1), 2, 2},
	} {
		v := itemVersion{From: c.from, To: c.to}
		if first, past := v.inEffect(instants); first != c.first || past != c.past {
			t.Errorf("%v to %v: %d to %d, want %d to %d", c.from, c.to, first, past, c.first, c.past)
		}
	}
}

// TestBegin checks that first versions with an imported date count only from the time at which
// a query finds them.
func TestBegin(t *testing.T) {
	instants := []time.Time{hour(1), hour(2), hour(3), hour(4)}
	written := []int{1, 1, 3, 3, 3, 4, 9} // index: moment; value: hour
	var versions []itemVersion
	for moment := range written {
		versions = append(versions, itemVersion{Oid: "Story:" + string(rune('1'+moment)) + ":" + string(rune('0'+moment)), From: hour(0)})
	}
	asked := 0
	s, err := begin(versions, instants, func(assets []string, at []time.Time) ([]bool, error) {
		there := make([]bool, len(assets))
		for i, asset := range assets {
			asked++
			there[i] = !hour(written[asset[len("Story:")]-'1']).After(at[i])
		}
		return there, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range versions {
		want := min(len(instants), written[k]-1)
		if got := s.first(&v, 0, len(instants)); got != want {
			t.Errorf("the version %s counts from %d, want %d", v.Oid, got, want)
		}
	}
	if asked > 4*4 {
		t.Errorf("it asked %d times", asked)
	}
}

func TestBands(t *testing.T) {
	in := map[string]bool{"Scope:1": true}
	h := &history{instants: []time.Time{hour(1), hour(2)}, scopes: []map[string]bool{in, in}, versions: []itemVersion{
		{Oid: "Story:1:1", State: "Active", Scope: ui.Reference{Oid: "Scope:1"}, Status: ui.Reference{Oid: "StoryStatus:1"}, Estimate: "2", From: hour(0), To: hour(2)},
		{Oid: "Story:1:2", State: "Closed", Scope: ui.Reference{Oid: "Scope:1"}, Status: ui.Reference{Oid: "StoryStatus:1"}, Estimate: "3.5", From: hour(2)},
		{Oid: "Story:2:3", State: "Active", Scope: ui.Reference{Oid: "Scope:2"}, Status: ui.Reference{Oid: ui.NoAsset}, From: hour(0)},
		{Oid: "Story:3:4", State: "Deleted", Scope: ui.Reference{Oid: "Scope:1"}, Status: ui.Reference{Oid: ui.NoAsset}, From: hour(0)},
		{Oid: "Story:4:5", State: "Active", Scope: ui.Reference{Oid: "Scope:1"}, Status: ui.Reference{Oid: ui.NoAsset}, From: hour(1)},
	}}
	want := []band{
		{"Closed", []float64{0, 1}, []float64{0, 3.5}}, {"Begun", []float64{1, 0}, []float64{2, 0}}, {"No status", []float64{1, 1}, []float64{0, 0}},
	}
	if got := bandsOf(h, []ui.Named{{Oid: "StoryStatus:1", Name: "Begun"}, {Oid: "StoryStatus:2", Name: "Done"}}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestIdeal(t *testing.T) {
	got := ideal([]float64{0, 6, 5}, 5)
	if !math.IsNaN(got[0]) || !reflect.DeepEqual(got[1:], []float64{6, 4, 2, 0}) {
		t.Errorf("got %v", got)
	}
	if got := ideal([]float64{5}, 1); got[0] != 0 {
		t.Errorf("of one day: %v", got)
	}
}

func TestLanes(t *testing.T) {
	got := lanes([]ui.Named{{Oid: "StoryStatus:1", Name: "Begun"}}, []item{{At: ui.Reference{Oid: ui.NoAsset}}, {At: ui.Reference{Oid: "StoryStatus:1"}, Estimate: "2"}, {At: ui.Reference{Oid: "StoryStatus:9"}, Status: "Gone"}})
	if len(got) != 3 || len(got[0].Cards) != 1 || got[1].Sum != 2 || got[2].Name != "Gone" {
		t.Errorf("got %v", got)
	}
}

// TestEarlier checks that the link to earlier days ends at the day on which the project was
// created.
func TestEarlier(t *testing.T) {
	at := func(text string) time.Time {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct{ made, first, want string }{
		{"2026-01-01", "2026-03-01", "?from=2026-01-30&to=2026-02-28"},
		{"2026-02-20", "2026-03-01", "?from=2026-02-20&to=2026-02-28"},
		{"2026-03-01", "2026-03-01", ""},
		{"2026-03-05", "2026-03-01", ""},
		{"0001-01-01", "1970-01-03", "?from=1970-01-01&to=1970-01-02"},
		{"0001-01-01", "1970-01-01", ""},
	} {
		f := flow{project: &project{Made: at(c.made).Add(time.Hour), Below: true}, First: at(c.first), Days: 30}
		if got := f.Earlier(); strings.ReplaceAll(got, "below=&", "") != c.want {
			t.Errorf("of %s, made %s: %q, want %q", c.first, c.made, got, c.want)
		}
	}
}

func TestSum(t *testing.T) {
	for s, want := range map[sum]string{"": "0", "0.30000000000000004": "0.3", "8331": "8331", "2.5": "2.5"} {
		if got := s.String(); got != want {
			t.Errorf("%q is %q, want %q", string(s), got, want)
		}
	}
	for want, i := range map[string]item{"": {}, "0": {OwnToDo: "0"}, "0.3": {OwnToDo: "0.1", OfParts: "0.2"}, "4": {OfParts: "4"}} {
		if got := i.ToDo(); got != want {
			t.Errorf("to do is %q, want %q", got, want)
		}
	}
}
