package faulttest

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

var (
	growFor   = flag.Duration("growfor", 0, "how long attributes are added under load; 0: until there is one of each kind with -short, else 3 s")
	growKills = flag.Int("growkills", 0, "how often the api is killed while it adds attributes; 0: twice with -short, else 8 times")
)

// knownIn is how soon after the answer to a definition every process must use the new attribute. It is long
// with -short, because other tests run in parallel.
func knownIn() time.Duration { return time.Duration(depth(30, 2)) * time.Second }

func growing() time.Duration { return cmp.Or(*growFor, time.Duration(depth(0, 3))*time.Second) }

func growthKills() int { return cmp.Or(*growKills, depth(2, 8)) }

// mostGrown is how many attributes the test adds under load at most. A model may have 1000 lists and
// attributes, and the part of the test that kills the api adds more.
const mostGrown = 400

// growth is a test that adds attributes to the model while all processes use the model.
type growth struct {
	t       *testing.T
	apis    [2]*site
	project string
	all     *notes        // receiver of all changes of stories
	begun   chan struct{} // closed before the first attribute is added
	began   func()

	mu      sync.Mutex
	attrs   []*custom
	wrote   []wrote
	refused int
	asked   int
	bad     []string
	slowest map[string]time.Duration
}

// custom is a custom attribute that the test adds to Story.
type custom struct {
	name  string
	def   map[string]any // command that creates the definition
	value any            // value that is written
	row   string         // the same value in a query result, as JSON
	event string         // the same value in an event, as JSON
	quote string         // the same value in a filter

	defined time.Time // when the definition was answered; zero: not yet
}

// wrote is a story that was created with a value of the attribute attr.
type wrote struct {
	asset string
	attr  *custom
}

// customs are the kinds of attributes that the test adds, one after another.
var customs = []custom{
	{def: map[string]any{"AttributeType": "Numeric"}, value: 4.5, row: `"4.5"`, quote: "4.5"},
	{def: map[string]any{"AttributeType": "Text"}, value: "some", row: `"some"`, quote: "some"},
	{def: map[string]any{"AttributeType": "Boolean"}, value: true, row: `true`, quote: "true"},
	{def: map[string]any{"AttributeType": "Relation", "RelatedAssetType": "Member"}, value: "Member:20", row: `{"_oid":"Member:20"}`, quote: "Member:20"},
	{def: map[string]any{"AttributeType": "Date", "IsDateOnly": true}, value: "2026-02-28", row: `"2026-02-28"`, quote: "2026-02-28"},
	{def: map[string]any{"AttributeType": "LongText"}, value: "more", row: `"more"`, quote: "more"},
	{
		def:   map[string]any{"AttributeType": "Relation", "RelatedAssetType": "Member", "IsMultivalue": true},
		value: []any{"Member:20"}, row: `[{"_oid":"Member:20"}]`, event: `{"_oid":"Member:20"}`, quote: "Member:20",
	},
}

func newCustom(n int) *custom {
	c := customs[n%len(customs)]
	c.name, c.def = fmt.Sprintf("Custom_Grown%d", n), maps.Clone(c.def)
	c.def["AssetType"], c.def["Name"], c.def["Asset"] = "AttributeDefinition", c.name, "Story"
	if c.event == "" {
		c.event = c.row
	}
	return &c
}

// TestTheModelGrows adds attributes at two apis in turn. Writers use each attribute before, during and
// after its definition. The service must refuse or execute each such write, and no written value may be
// missing from a version, a row or an event. Both apis and the worker must use an attribute within two
// seconds. Then an api is killed several times while it adds attributes.
// Spec: interface 2.1.4.
func TestTheModelGrows(t *testing.T) {
	together(t)
	g, _ := chance(t)
	s := newSite(t)
	other := *s
	addr := testproc.FreeAddr(t)
	other.base, other.env = "http://"+addr+"/alds", append(slices.Clone(s.env), "ALDS_ADDR="+addr)
	first, second := s.startAPI(), other.startAPI()
	s.startBeside("worker")
	x := &growth{t: t, apis: [2]*site{s, &other}, all: newNotes(t), slowest: map[string]time.Duration{}, begun: make(chan struct{})}
	x.project = s.project("growing")
	s.subscribe(x.all.url, 100, map[string]any{"type": "AssetCreated", "from": "Story"}, map[string]any{"type": "AssetChanged", "from": "Story"})

	x.began = sync.OnceFunc(func() { close(x.begun) })
	ended := make(chan struct{})
	var writing sync.WaitGroup
	for i := range 4 {
		seed := g.Uint64()
		writing.Go(func() { x.write(ended, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	n := 0
	for until := time.Now().Add(growing()); time.Now().Before(until) && n < mostGrown || n < len(customs); n++ {
		x.add(n)
	}
	close(ended)
	writing.Wait()
	first.MustRun()
	second.MustRun()
	x.settle()
	t.Logf("%d attributes; %d requests by four writers, %d of them refused since an attribute was unknown; %d stories with values; slowest: %v",
		n, x.asked, x.refused, len(x.wrote), x.slowest)
	x.killed(g, first)
	s.sound()
}

// answered is the decoded answer to a bulk request.
type answered struct {
	AssetsCreated   struct{ OIDTokens []string }
	CommandFailures struct {
		Count    int
		Commands []struct{ Error struct{ Message string } }
	}
	QueryResult struct {
		Results [][]map[string]json.RawMessage
	}
}

// refusal returns the message of the first failed command, or "" if no command failed.
func (a *answered) refusal() string {
	if a.CommandFailures.Count == 0 {
		return ""
	}
	if len(a.CommandFailures.Commands) == 0 {
		return "a failure without a command"
	}
	return a.CommandFailures.Commands[0].Error.Message
}

func (x *growth) bulk(api int, commands ...any) *answered {
	var a answered
	if err := x.apis[api].post(x.t.Context(), "/api/asset", commands, &a); err != nil {
		x.fault("%v: %v", commands, err)
		a.CommandFailures.Count = 1
	}
	return &a
}

func (x *growth) fault(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.bad) < 10 {
		x.bad = append(x.bad, fmt.Sprintf(format, args...))
		x.t.Errorf(format, args...)
	}
}

// took records the time that something has taken since a given time. It fails the test if that is longer
// than knownIn.
func (x *growth) took(what string, since time.Time) {
	d := time.Since(since).Round(time.Millisecond)
	x.mu.Lock()
	x.slowest[what] = max(x.slowest[what], d)
	x.mu.Unlock()
	if d > knownIn() {
		x.fault("%s: %s", what, d)
	}
}

// story returns a command that creates a story with the value of the attribute c.
func (x *growth) story(name string, c *custom) map[string]any {
	command := story(x.project, name)
	command[c.name] = c.value
	return command
}

// keep records the stories that a request has created with the attribute c.
func (x *growth) keep(a *answered, c *custom) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, o := range a.AssetsCreated.OIDTokens {
		x.wrote = append(x.wrote, wrote{o, c})
	}
}

// add adds an attribute at one api. Then it uses the attribute at this api, at the other api, and in a
// subscription.
func (x *growth) add(n int) {
	here, there, c := n%2, 1-n%2, newCustom(n)
	x.mu.Lock()
	x.attrs = append(x.attrs, c)
	x.mu.Unlock()
	x.began()
	if a := x.bulk(here, c.def); a.refusal() != "" {
		x.fault("%s cannot be added: %s", c.name, a.refusal())
		return
	}
	defined := time.Now()
	x.mu.Lock()
	c.defined = defined
	x.mu.Unlock()

	if a := x.bulk(here, x.story("here", c)); a.refusal() != "" {
		x.fault("%s is unknown where it was added: %s", c.name, a.refusal())
	} else {
		x.keep(a, c)
	}
	for {
		a := x.bulk(there, x.story("there", c))
		if a.refusal() == "" {
			x.keep(a, c)
			break
		}
		if x.unknown(a.refusal(), c, defined) {
			return
		}
	}
	x.took("used at the other", defined)
	x.hook(here, there, c)
}

// unknown is called when a command was refused. It returns false if the reason is that the attribute is
// unknown and not more than knownIn has passed since its definition. Otherwise it fails the test and
// returns true.
func (x *growth) unknown(message string, c *custom, defined time.Time) bool {
	named := strings.Contains(message, "Unknown AttributeDefinition") || strings.Contains(message, "Invalid QueryFilter2 token")
	if !named || !strings.Contains(message, c.name) {
		x.fault("%s: %s", c.name, message)
		return true
	}
	if !defined.IsZero() && time.Since(defined) > knownIn() {
		x.fault("%s is unknown after %s: %s", c.name, time.Since(defined), message)
		return true
	}
	return false
}

// hook creates a subscription whose filter uses the attribute, and writes a matching story at another api.
// The event of that story must arrive, and no other.
func (x *growth) hook(here, there int, c *custom) {
	receiver := newNotes(x.t)
	var made struct{ ID string }
	err := x.apis[there].post(x.t.Context(), "/api/webhook", map[string]any{"url": receiver.url, "enabled": true, "maxBatch": 1, "eventTypes": []any{map[string]any{
		"type": "AssetCreated", "from": "Story", "filter": []string{c.name + "='" + c.quote + "'", "Name='hooked'"}, "select": []string{c.name},
	}}}, &made)
	if err != nil {
		x.fault("a subscription that names %s: %v", c.name, err)
		return
	}
	a := x.bulk(here, story(x.project, "hooked"), x.story("hooked", c))
	if a.refusal() != "" || len(a.AssetsCreated.OIDTokens) != 2 {
		x.fault("%s: %s", c.name, a.refusal())
		return
	}
	written := time.Now()
	with := a.AssetsCreated.OIDTokens[1]
	x.mu.Lock()
	x.wrote = append(x.wrote, wrote{with, c})
	x.mu.Unlock()
	e, ok := receiver.await(with)
	x.took("matched by a webhook", written)
	if got := string(e.snapshot[c.name]); !ok || got != c.row || receiver.distinct() != 1 {
		x.fault("%s: the event of %s came %v with %s, want %s, among %d events", c.name, with, ok, got, c.row, receiver.distinct())
	}
	if err := x.apis[here].post(x.t.Context(), "/api/webhook/delete/"+made.ID, nil, &struct{}{}); err != nil {
		x.fault("delete the subscription: %v", err)
	}
}

// write uses attributes at both apis until ended is closed, mostly those that are being added.
func (x *growth) write(ended chan struct{}, g *rand.Rand) {
	<-x.begun
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		default:
		}
		x.mu.Lock()
		c := x.attrs[max(0, len(x.attrs)-1-g.IntN(3))]
		defined := c.defined
		x.asked++
		x.mu.Unlock()
		api := g.IntN(2)
		a := x.bulk(api, x.story("of a writer", c))
		if why := a.refusal(); why != "" {
			x.unknown(why, c, defined)
			x.mu.Lock()
			x.refused++
			x.mu.Unlock()
			continue
		}
		x.keep(a, c)
		asset := a.AssetsCreated.OIDTokens[0]
		if a := x.bulk(g.IntN(2), map[string]any{"from": asset, "update": map[string]any{"Name": "renamed"}}); a.refusal() != "" {
			x.fault("%s cannot be renamed: %s", asset, a.refusal())
		}
		x.read(g.IntN(2), asset, c, defined)
	}
}

// read queries an asset by the attribute: it selects the attribute and filters by it.
func (x *growth) read(api int, asset string, c *custom, defined time.Time) {
	status, text, err := x.apis[api].send(x.t.Context(), "/query.v1", nil, map[string]any{
		"from": asset, "select": []string{c.name}, "filter": []string{c.name + "='" + c.quote + "'"},
	})
	switch want := `[[{"_oid":"` + asset + `","` + c.name + `":` + c.row + `}]]`; {
	case err != nil:
		x.fault("a query: %v", err)
	case status == http.StatusOK && string(text) != want:
		x.fault("%s at api %d: %s, want %s", asset, api, text, want)
	case status == http.StatusBadRequest:
		x.unknown(string(text), c, defined)
	case status != http.StatusOK:
		x.fault("a query: %d %s", status, text)
	}
}
