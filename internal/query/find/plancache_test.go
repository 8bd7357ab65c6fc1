package find

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// someValues has values of every kind, and some that are invalid.
var someValues = []string{
	"", "x", "It's", `say "so"`, "%a_", "$A", "NULL", "Story:1010", "Story:1011:1005", "Scope:0", "Scope:1000", "Member:20", "Task:7", "Epic:9", "Nothing:1",
	"StoryStatus:133", "0", "1", "2", "3", "-1", "1.5", "1e3", "64", "255", "true", "FALSE", "2026-01-01", "2026-01-01T00:00:16Z", "Active", "Dead", "Story", "Workitem",
}

func (g generator) one(list []string) string { return list[g.IntN(len(list))] }

// shaped returns a request of a random shape, with every part that can have values.
func (g generator) shaped() query.Request {
	r := g.request()
	if strings.Contains(r.AsOf.Text, "-") {
		r.AsOf.Text = ""
	}
	typ, _ := g.m.Type(r.From.Text)
	if g.IntN(4) == 0 {
		r.From.Text += ":1010" + g.one([]string{"", "", ":1004"})
		r.Rest = g.IntN(2) == 0
		r.One = r.Rest
	}
	for range g.IntN(3) {
		r.Where = append(r.Where, query.Pair{Token: query.Text{Text: g.path(typ, 3)}, Value: query.Text{Text: g.one(someValues)}})
	}
	if g.IntN(3) == 0 {
		r.With = map[string][]string{"A": {g.one(someValues)}, "$B": {g.one(someValues), g.one(someValues)}}
		name := g.path(typ, 2)
		r.Filter = append(r.Filter, query.Text{Text: name + "=$A|" + name + "!=$B"})
	}
	for _, a := range typ.Attrs {
		if a.Kind == meta.Relation && g.IntN(25) == 0 {
			r.Select = append(r.Select, query.Item{Sub: &query.Request{
				From: query.Text{Text: a.Name}, Filter: []query.Text{{Text: g.filter(a.Related, 1)}},
				Where: []query.Pair{{Token: query.Text{Text: "Name"}, Value: query.Text{Text: g.one(someValues)}}},
			}})
		}
	}
	if g.IntN(3) == 0 {
		r.Page = &query.Page{Start: g.Int64N(3), Size: 1 + g.Int64N(5)}
	}
	return r
}

var inQuotes = regexp.MustCompile(`'[^'"]*'`)

// twin returns r with other values. Its shape is the same.
func (g generator) twin(r query.Request) query.Request {
	value := func() string { return g.one(someValues) }
	r.From.Text = strings.Replace(r.From.Text, ":1010", ":"+strconv.Itoa(1009+g.IntN(5)), 1)
	where := make([]query.Pair, len(r.Where))
	for i, p := range r.Where {
		p.Value.Text = value()
		where[i] = p
	}
	filter := make([]query.Text, len(r.Filter))
	for i, f := range r.Filter {
		filter[i] = query.Text{Text: inQuotes.ReplaceAllStringFunc(f.Text, func(old string) string {
			if g.IntN(2) == 0 {
				return old
			}
			return "'" + strings.NewReplacer(`'`, `''`, `"`, `""`).Replace(value()) + "'"
		})}
	}
	with := map[string][]string{}
	for name, list := range r.With {
		for range list {
			with[name] = append(with[name], value())
		}
	}
	items := make([]query.Item, len(r.Select))
	for i, item := range r.Select {
		if item.Sub != nil {
			sub := g.twin(*item.Sub)
			item.Sub = &sub
		}
		items[i] = item
	}
	r.Where, r.Filter, r.Select = where, filter, items
	if r.With != nil {
		r.With = with
	}
	if r.Page != nil {
		r.Page = &query.Page{Start: r.Page.Start + g.Int64N(2), Size: r.Page.Size}
	}
	return r
}

// statements returns all statements that a prepared request may run, with arguments.
func statements(f *Finder, p prepared, who auth.Actor) []sqlgen.Statement {
	x := &executor{prepared: p, f: f, w: f.writer(who)}
	list := []sqlgen.Statement{x.page(), x.w.IDs(p.plan), x.w.Total(p.plan)}
	ids, moments := []int64{1010, 1011, 1012}, []int64(nil)
	if p.plan.Moment != nil {
		moments = []int64{1004, 1005, 1006}
	}
	list = append(list, x.w.Block(&p.plan.Select, ids, moments))
	for _, l := range p.plan.Lookups {
		list = append(list, x.w.Lookup(l))
	}
	var branches func(*query.Body)
	branches = func(b *query.Body) {
		for _, br := range b.Branches {
			var at []int64
			if br.Moment != nil {
				at = []int64{1004, 1005, 1006}
			}
			list = append(list, x.w.Children(br, ids, at))
			branches(&br.Body)
		}
	}
	branches(&p.plan.Body)
	for i := range list {
		list[i].Args = x.filled(list[i].Args)
	}
	return list
}

// repeats reports whether two slots have the same value. A plan for one request evaluates
// conditions with equal values once. A cached plan cannot do so, because the values of other
// requests differ.
func repeats(args []any) bool {
	seen := map[string]bool{}
	for _, a := range args {
		text := fmt.Sprintf("%T %v", a, a)
		if seen[text] {
			return true
		}
		seen[text] = true
	}
	return false
}

// TestCachedPlansAreThoseOfTheRequest prepares random requests, and requests that differ from these
// only in values, for members with different rights. Cached plans must give the same statements and
// arguments as a plan for each request alone. Invalid requests must be refused with the same
// messages.
func TestCachedPlansAreThoseOfTheRequest(t *testing.T) {
	requests, least := 6000, 300.0
	if testing.Short() {
		requests, least = 1000, 50
	}
	g := generator{rand.New(rand.NewPCG(testseed.New(t), 2)), meta.Default()}
	d := testdb.SQLite(t)
	f := New(d, g.m)
	whos := []auth.Actor{
		auth.System,
		{Member: 7, All: true},
		actors["andre"], actors["none"], actors["andre in the team"],
		{Member: 1003, Scopes: []int64{1000, 1001}, Roles: []meta.Role{8, 4}, Held: meta.RolesOf(4, 8)},
		{Member: 9, Scopes: []int64{1000, 1001}},
		{Member: 20, All: true, Hidden: &auth.Hidden{}},
		{Member: 20, All: true, Hidden: &auth.Hidden{Ever: true}},
		{Member: 20, All: true, Hidden: &auth.Hidden{Now: []int64{1002}, Ever: true}},
	}
	valid := 0
	for range requests {
		r := g.shaped()
		for range 3 {
			who := whos[g.IntN(len(whos))]
			alone, errAlone := f.bind(r, readerOf(who))
			got, err := f.prepare(r, readerOf(who))
			if fmt.Sprint(err) != fmt.Sprint(errAlone) {
				t.Fatalf("%+v\nprepared: %v\nalone:    %v", r, err, errAlone)
			}
			if err != nil {
				r = g.twin(r)
				continue
			}
			valid++
			if got.moments != alone.moments || got.one != alone.one || got.single(r) != alone.single(r) || got.plan.String() != alone.plan.String() || !reflect.DeepEqual(got.plan.Page, alone.plan.Page) {
				t.Fatalf("%+v\nprepared: %s\nalone:    %s", r, got.plan, alone.plan)
			}
			if got.cached != nil && repeats(got.args) {
				if alone, err = New(d, g.m).prepare(r, readerOf(who)); err != nil {
					t.Fatal(err)
				}
			}
			cached, own := statements(f, got, who), statements(f, alone, who)
			if !reflect.DeepEqual(cached, own) {
				t.Fatalf("%+v\nprepared: %v\nalone:    %v", r, cached, own)
			}
			r = g.twin(r)
		}
	}
	if n := testutil.ToFloat64(f.metrics.plans.cached); n < least || float64(valid) < 2*least {
		t.Errorf("%v of %d valid requests found their plan cached", n, valid)
	}
	if n := f.plans.order.Len(); n != len(f.plans.byKey) || n > maxPlans {
		t.Errorf("%d plans are cached, %d by key", n, len(f.plans.byKey))
	}
}

// TestCachedPlansDoNotMix alternates requests whose plans differ although they look alike, and
// requests that look different but must share a plan.
func TestCachedPlansDoNotMix(t *testing.T) {
	d := testdb.SQLite(t)
	where := func(from, filter string, n int) []query.Request {
		var all []query.Request
		for i, v := range someValues {
			if n > 0 && i%8 != 0 {
				continue
			}
			pad := strings.Repeat(" ", n)
			all = append(all, query.Request{From: query.Text{Text: from}, Filter: []query.Text{{Text: fmt.Sprintf(filter, pad, strings.NewReplacer(`'`, `''`, `"`, `""`).Replace(v))}}})
		}
		return all
	}
	alike := map[string][]query.Request{
		"an existence and a count":        where("Story", "Owners.@Count>%s'%s'", 0),
		"no count at all":                 where("Story", "Owners.@Count=%s'%s'", 0),
		"types of one abstract relation":  where("Workitem", "Parent=%s'%s'", 0),
		"types of a relation to many":     where("PrimaryWorkitem", "Children=%s'%s'", 0),
		"where a hierarchy ends":          where("Story", "SuperMeAndUp=%s'%s'", 0),
		"a hierarchy of scopes":           where("Story", "Scope.ParentMeAndUp=%s'%s'", 0),
		"a state and its name":            where("Story", "AssetState=%s'%s'", 0),
		"a type":                          where("Workitem", "AssetType=%s'%s'", 0),
		"a list that is padded":           where("Story", "Scope='Scope:0',%s'%s','Scope:1'", 0),
		"a value inside brackets":         where("Story", "Owners[Name!=%s'%s'].@Count>'0'", 0),
		"what looks like a bracket of it": where("Story", "Owners[Name!='x';Nickname~=%s'%s']", 0),
	}
	step := 1
	if testing.Short() {
		step = 13
	}
	story, _ := meta.Default().Type("Story")
	for _, a := range story.Attrs { // definitions with quoted texts; for some n, the client's text has the same offset
		if a.Place.Kind == meta.Calc && strings.Contains(a.Place.Expr, "'") {
			for n := 0; n < 40; n += step {
				alike[fmt.Sprint(a.Name, n)] = where("Story", "Name=%s'%s';+"+a.Name, n)
			}
		}
	}
	if len(alike) < 50/step {
		t.Errorf("only %d cases", len(alike))
	}
	for what, requests := range alike {
		f := New(d, meta.Default())
		for _, r := range append(requests, requests...) {
			alone, errAlone := f.bind(r, query.Reader{All: true})
			got, err := f.prepare(r, query.Reader{All: true})
			if fmt.Sprint(err) != fmt.Sprint(errAlone) {
				t.Fatalf("%s: %s: prepared: %v, alone: %v", what, r.Filter[0].Text, err, errAlone)
			}
			if err == nil && !reflect.DeepEqual(statements(f, got, auth.System), statements(f, alone, auth.System)) {
				t.Fatalf("%s: %s:\nprepared: %v\nalone:    %v", what, r.Filter[0].Text, statements(f, got, auth.System), statements(f, alone, auth.System))
			}
		}
	}
}

// TestCachedPlansAreShared runs the same few shapes on one Finder concurrently. Each answer
// equals that of a Finder without a cache.
func TestCachedPlansAreShared(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		g := generator{rand.New(rand.NewPCG(3, 3)), f.m}
		shared := New(d, f.m)
		type question struct {
			who  string
			r    query.Request
			want string
		}
		answer := func(f *Finder, q question) string {
			b, err := f.Rows(context.Background(), nil, actors[q.who], q.r, nil)
			return fmt.Sprint(string(b), err)
		}
		var all []question
		for range 20 {
			r := g.shaped()
			for range 10 {
				q := question{who: g.one([]string{"admin", "andre", "none"}), r: r}
				q.want = answer(New(d, f.m), q)
				all = append(all, q)
				r = g.twin(r)
			}
		}
		var sides sync.WaitGroup
		for side := range 4 {
			sides.Go(func() {
				for i := range all {
					q := all[(i*7+side*50)%len(all)]
					if got := answer(shared, q); got != q.want {
						t.Errorf("%s asks %+v\ngot  %s\nwant %s", q.who, q.r, got, q.want)
						return
					}
				}
			})
		}
		sides.Wait()
	})
}

func TestPlansAreBounded(t *testing.T) {
	p := newPlanCache()
	for i := range 3 * maxPlans {
		p.put(&cachedPlan{key: fmt.Sprint(i)})
		p.get([]byte("0"))
	}
	if len(p.byKey) != maxPlans || p.order.Len() != maxPlans {
		t.Errorf("%d plans are cached, %d by key", p.order.Len(), len(p.byKey))
	}
	if p.get([]byte("0")) == nil || p.get([]byte("1")) != nil || p.get([]byte(fmt.Sprint(3*maxPlans-1))) == nil {
		t.Error("what is asked stays, what was not asked for longest goes")
	}
}
