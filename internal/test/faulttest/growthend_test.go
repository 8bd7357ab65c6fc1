package faulttest

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// notes is a webhook receiver that stores all events, by the Oid of the asset.
type notes struct {
	url string

	mu     sync.Mutex
	events map[string][]told // by asset
}

// told is the content of an event.
type told struct {
	changes  map[string]string // new values, by the name of the attribute
	snapshot map[string]json.RawMessage
}

func newNotes(t *testing.T) *notes {
	t.Helper()
	n := &notes{events: map[string][]told{}}
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	n.url = server.URL
	return n
}

// ServeHTTP receives a delivery.
func (n *notes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var body struct {
		Events []struct {
			TargetAsset struct {
				OID string `json:"_oid"`
			} `json:"targetAsset"`
			Changes []struct {
				Name string          `json:"name"`
				New  json.RawMessage `json:"new"`
			} `json:"changes"`
			Snapshot []map[string]json.RawMessage `json:"snapshot"`
		} `json:"events"`
	}
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range body.Events {
		asset := e.TargetAsset.OID[:strings.LastIndexByte(e.TargetAsset.OID, ':')]
		is := told{changes: map[string]string{}}
		for _, c := range e.Changes {
			is.changes[c.Name] = string(c.New)
		}
		if len(e.Snapshot) > 0 {
			is.snapshot = e.Snapshot[0]
		}
		n.events[asset] = append(n.events[asset], is)
	}
}

// distinct returns the number of assets with at least one event.
func (n *notes) distinct() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.events)
}

func (n *notes) of(asset string) []told {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.events[asset]
}

// await waits for the first event of an asset. It returns false if no event arrives in time.
func (n *notes) await(asset string) (told, bool) {
	for end := time.Now().Add(2 * knownIn()); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if all := n.of(asset); len(all) > 0 {
			return all[0], true
		}
	}
	return told{}, false
}

// settle waits until no change waits for delivery. Then it compares everything that was written with the
// versions that each api returns, and with the events.
func (x *growth) settle() {
	x.t.Helper()
	for end := time.Now().Add(quietIn); x.apis[0].waiting() != 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	with := map[*custom]map[string]bool{}
	for _, w := range x.wrote {
		if with[w.attr] == nil {
			with[w.attr] = map[string]bool{}
		}
		with[w.attr][w.asset] = true
		x.eventHas(w)
	}
	versions := 0
	for _, c := range x.attrs {
		for api := range x.apis {
			versions += x.versionsHave(api, c, with[c])
		}
	}
	x.t.Logf("%d versions have their values", versions/2)
}

// eventHas fails the test if no event has the value that the story w was created with.
func (x *growth) eventHas(w wrote) {
	for _, e := range x.all.of(w.asset) {
		if e.changes[w.attr.name] == w.attr.event {
			return
		}
	}
	x.fault("%s: no event has %s: %v", w.asset, w.attr.name, x.all.of(w.asset))
}

// versionsHave compares the versions of all stories with what was written. It returns how many versions
// have the value of the attribute c. The parameter with has the stories that were created with this
// attribute.
func (x *growth) versionsHave(api int, c *custom, with map[string]bool) (n int) {
	var sets [][]map[string]json.RawMessage
	x.apis[api].mustPost("/query.v1", map[string]any{"from": "Story", "asof": "All", "select": []string{c.name}, "where": map[string]any{"Scope": x.project}}, &sets)
	found := map[string]bool{}
	for _, row := range sets[0] {
		var o string
		if err := json.Unmarshal(row["_oid"], &o); err != nil {
			x.t.Fatal(err)
		}
		asset := o[:strings.LastIndexByte(o, ':')]
		has := string(row[c.name]) == c.row
		if has != with[asset] {
			x.fault("%s has %s = %s at api %d", o, c.name, row[c.name], api)
		}
		if has {
			found[asset] = true
			n++
		}
	}
	if len(found) != len(with) {
		x.fault("%d stories have %s at api %d, want %d", len(found), c.name, api, len(with))
	}
	return n
}

// killed kills the first api while the api adds a list and two attributes in one request. Afterwards all
// three or none must exist, and both apis must return the same. If none exists, the same request must then
// succeed. If every kill comes after the commit, the test goes on, with up to three times as many kills as
// growthKills says.
func (x *growth) killed(g *rand.Rand, api *testproc.Process) {
	x.t.Helper()
	s, usual := x.apis[0], time.Duration(0)
	n, whole, absent, said := 0, 0, 0, 0
	for ; n < growthKills() || absent == 0 && n < 3*growthKills(); n++ {
		name := func(what string) string { return fmt.Sprintf("Custom_Killed%s%d", what, n) }
		request := []any{
			map[string]any{"AssetType": "AssetType", "Name": name("List"), "Base": "List"},
			map[string]any{"AssetType": "AttributeDefinition", "Name": name("Relation"), "Asset": "Story", "AttributeType": "Relation", "RelatedAssetType": name("List")},
			map[string]any{"AssetType": "AttributeDefinition", "Name": name("Number"), "Asset": "Story", "AttributeType": "Numeric"},
		}
		done, began := make(chan bool, 1), time.Now()
		go func() {
			var a answered
			err := s.post(x.t.Context(), "/api/asset", request, &a)
			done <- err == nil && a.refusal() == ""
		}()
		if usual == 0 { // the first request is not killed; its duration limits the times of later kills
			done <- <-done
			usual = time.Since(began)
		}
		at := time.Duration(g.Int64N(int64(usual) * 3 / 2))
		time.Sleep(at - time.Since(began))
		api.Kill()
		answered := <-done
		api = s.startAPI()
		rows := x.defined(0, name)
		if there := x.agrees(1, name, rows); rows != 0 && rows != allDefined || answered && rows == 0 || there != rows {
			x.fault("killed after %s, answered %v: %d of %d are there, %d at the other api", at, answered, rows, allDefined, there)
		}
		again := x.bulk(0, request...).refusal()
		switch {
		case (again == "") != (rows == 0):
			x.fault("%d definitions are there; added again: %q", rows, again)
		case rows == 0:
			absent++
		default:
			whole++
		}
		if answered {
			said++
		}
		x.works(name)
	}
	x.t.Logf("killed %d times: %d times all was there (%d times answered), %d times nothing, which was then added", n, whole, said, absent)
	if absent == 0 && n > 0 {
		late(x.t, "no kill came before its request was committed")
	}
}

// allDefined is the result of defined if the list and both attributes exist.
const allDefined = 9

// defined counts what an api returns of a list and two attributes: one for each row, and three for each
// attribute in the metadata.
func (x *growth) defined(api int, name func(string) string) int {
	var sets [][]json.RawMessage
	x.apis[api].mustPost("/query.v1", []any{
		map[string]any{"from": "AttributeDefinition", "select": []string{"Name"}, "filter": []string{"Name='" + name("Relation") + "','" + name("Number") + "'"}},
		map[string]any{"from": "AssetType", "select": []string{"Name"}, "filter": []string{"Name='" + name("List") + "'"}},
	}, &sets)
	n := len(sets[0]) + len(sets[1])
	meta := x.get(api, "/meta.v1/Story")
	for _, what := range []string{"Relation", "Number"} {
		if strings.Contains(meta, name(what)) {
			n += 3
		}
	}
	return n
}

// agrees waits until defined returns want for an api, but at most for knownIn. It returns the last result.
func (x *growth) agrees(api int, name func(string) string, want int) (n int) {
	for since := time.Now(); time.Since(since) < knownIn(); time.Sleep(10 * time.Millisecond) {
		if n = x.defined(api, name); n == want {
			break
		}
	}
	return n
}

// works writes values of the new list and attributes at both apis. That must succeed within knownIn.
func (x *growth) works(name func(string) string) {
	for api := range x.apis {
		value := fmt.Sprintf("value of api %d", api)
		for since := time.Now(); ; time.Sleep(5 * time.Millisecond) {
			a := x.bulk(api, map[string]any{"AssetType": name("List"), "Name": value},
				map[string]any{"AssetType": "Story", "Name": "survivor", "Scope": x.project, name("Relation"): value, name("Number"): 7})
			if a.refusal() == "" {
				break
			}
			if time.Since(since) > knownIn() {
				x.fault("what was added cannot be used at api %d: %s", api, a.refusal())
				return
			}
		}
	}
}

func (x *growth) get(api int, path string) string {
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodGet, x.apis[api].base+path, http.NoBody)
	if err != nil {
		x.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		x.t.Fatalf("%s: %v %d %.300s", path, err, res.StatusCode, text)
	}
	return string(text)
}
