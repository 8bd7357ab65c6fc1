package sqlgen_test

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

var randomQueries = flag.Int("sqlgen.queries", 0, "how many random queries TestRandomStatements runs on each database; 0: 150, in the long tier")

// TestRandomStatements runs the statements of random queries with long paths on an empty database.
// It reports statements that take more than ten seconds or that the server refuses. The text of a
// query alone should not cause much work.
//
//	go test ./internal/query/sqlgen -run RandomStatements -v -timeout 2h -sqlgen.queries 1000
func TestRandomStatements(t *testing.T) {
	queries := *randomQueries
	if queries == 0 {
		if testing.Short() {
			t.Skip("long tier only: servers plan some of these for seconds")
		}
		queries = 150
	}
	const most = 10 * time.Second
	seed := testseed.New(t)
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable
		types := concreteTypes()
		seen := slices.Sorted(maps.Keys(visibilities))
		run, refused, slowest := 0, 0, time.Duration(0)
		for range queries {
			g := &golden{as: seen[r.IntN(len(seen))], body: randomQuery(r, types)}
			if r.IntN(4) == 0 {
				g.when = "at"
			}
			if g.compile(meta.Default()); g.err != nil {
				if fault.KindOf(g.err) != fault.Invalid {
					t.Errorf("%s: %v", g.body, g.err)
				}
				continue
			}
			w := sqlgen.Writer{Dialect: d.Dialect, Visibility: visibilities[g.as]}
			for _, s := range append(g.statements(d.Dialect), w.Page(g.plan, false), w.Total(g.plan)) {
				if s.Check() != nil {
					refused++
					continue
				}
				began := time.Now()
				err := db.Each(context.Background(), d, s.SQL, s.Args, func(db.Scanner) error { return nil })
				took := time.Since(began)
				if err != nil && fault.KindOf(err) == fault.Invalid { // SQLite has a limit of its own
					refused++
					continue
				}
				run, slowest = run+1, max(slowest, took)
				if took > most || err != nil {
					t.Errorf("%s as %q %s\n%s, %d bytes of SQL: %v", g.body, g.as, g.when, took, len(s.SQL), err)
					break
				}
			}
		}
		t.Logf("%d statements, %d too complex; the slowest took %s", run, refused, slowest)
	})
}

func concreteTypes() (all []*meta.Type) {
	for _, name := range []string{"Story", "Task", "Epic", "Scope", "Member", "Timebox", "Workitem", "PrimaryWorkitem", "BaseAsset"} {
		if t, ok := meta.Default().Type(name); ok {
			all = append(all, t)
		}
	}
	return all
}

// randomQuery returns a query whose select, filter and sort follow long paths.
func randomQuery(r *rand.Rand, types []*meta.Type) []byte {
	from := types[r.IntN(len(types))]
	q := map[string]any{"from": from.Name}
	var sel, filter, sort []string
	for range 1 + r.IntN(3) {
		sel = append(sel, randomPath(r, from, r.IntN(2) == 0))
	}
	for range r.IntN(3) {
		terms := make([]string, 1+r.IntN(3))
		for i := range terms {
			terms[i] = randomPath(r, from, r.IntN(2) == 0) + []string{"='1'", "!='1'", ">'1'", ""}[r.IntN(4)]
		}
		filter = append(filter, strings.Join(terms, []string{"|", ";"}[r.IntN(2)]))
	}
	for range r.IntN(3) {
		sort = append(sort, []string{"", "-"}[r.IntN(2)]+randomPath(r, from, true))
	}
	q["select"] = sel
	if filter != nil {
		q["filter"] = filter
	}
	if sort != nil {
		q["sort"] = sort
	}
	if r.IntN(2) == 0 {
		q["page"] = map[string]any{"start": 0, "size": 20}
	}
	body, _ := json.Marshal(q) // cannot fail: q has only texts and numbers
	return body
}

// randomPath returns a token of up to 15 hops. It repeats a part of a path often, since the work of
// a server may grow with each repetition. If aggregate is true, the token has one value.
func randomPath(r *rand.Rand, from *meta.Type, aggregate bool) string {
	var hops []string
	at := from
	for range r.IntN(6) {
		var relations []*meta.Attr
		for _, a := range at.Attrs {
			if a.Kind == meta.Relation && (a.Multi || r.IntN(4) == 0) {
				relations = append(relations, a)
			}
		}
		if len(relations) == 0 {
			break
		}
		a := relations[r.IntN(len(relations))]
		hop := a.Name
		at = a.Related
		if len(at.Concrete) > 1 && r.IntN(3) == 0 {
			at = at.Concrete[r.IntN(len(at.Concrete))]
			hop += ":" + at.Name
		}
		hops = append(hops, hop)
		if at == from && len(hops) > 0 { // a way back: it can be repeated
			hops = slices.Repeat(hops, 1+r.IntN(14/len(hops)))
			break
		}
	}
	last := []string{"Name", "@Count", "@DistinctCount"}
	for _, a := range at.Attrs {
		switch {
		case a.Kind != meta.Numeric:
		case aggregate:
			last = append(last, a.Name+".@Sum", a.Name+".@Max", a.Name+".@Min")
		default:
			last = append(last, a.Name)
		}
	}
	switch {
	case len(hops) == 0:
		last = last[:1]
	case aggregate:
		last = last[1:]
	}
	return strings.Join(append(hops, last[r.IntN(len(last))]), ".")
}
