package find

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// randomQueries returns the number of queries that TestServersAgree runs.
func randomQueries() int {
	if testing.Short() {
		return 150
	}
	return 600
}

// TestServersAgree runs the same random queries about the same assets on both databases.
func TestServersAgree(t *testing.T) {
	mysql, sqlite := testdb.MySQL(t), testdb.SQLite(t)
	f := seed(t)
	f.extend()
	f.write(mysql)
	f.write(sqlite)
	g := generator{rand.New(rand.NewPCG(testseed.New(t), 1)), f.m}
	one, two := New(mysql, f.m), New(sqlite, f.m)
	two.maxBelow = 1 // the rows below each row are read by themselves
	asked, want := 0, randomQueries()
	for range want * 20 {
		if asked == want {
			break
		}
		r, who := g.request(), actors[[]string{"admin", "andre", "none"}[g.IntN(3)]]
		a, errA := one.Rows(context.Background(), nil, who, r, nil)
		b, errB := two.Rows(context.Background(), nil, who, r, nil)
		if fault.KindOf(errA) == fault.Invalid && fault.KindOf(errB) == fault.Invalid && fault.Public(errA) == fault.Public(errB) {
			continue
		}
		asked++
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Fatalf("%s\nmysql  %s %v\nsqlite %s %v", describe(r), a, errA, b, errB)
		}
	}
	if asked < want/2 {
		t.Errorf("only %d queries were valid", asked)
	}
}

func describe(r query.Request) string {
	s := fmt.Sprintf("from %s filter %v sort %v asof %q select", r.From.Text, r.Filter, r.Sort, r.AsOf.Text)
	for _, i := range r.Select {
		s += " " + i.Text.Text
	}
	return s
}

// generator makes queries that are mostly valid.
type generator struct {
	*rand.Rand
	m *meta.Model
}

func (g generator) request() query.Request {
	types := []string{"Story", "Scope", "Member", "Workitem", "PrimaryWorkitem", "Epic", "Task", "Note", "BaseAsset", "StoryStatus"}
	typ, _ := g.m.Type(types[g.IntN(len(types))])
	r := query.Request{From: query.Text{Text: typ.Name}}
	for range g.IntN(3) {
		r.Select = append(r.Select, query.Item{Text: query.Text{Text: g.path(typ, 3)}})
	}
	if g.IntN(3) > 0 {
		r.Filter = []query.Text{{Text: g.filter(typ, 2)}}
	}
	if g.IntN(2) == 0 {
		r.Sort = []query.Text{{Text: g.path(typ, 2)}}
	}
	if g.IntN(5) == 0 {
		r.AsOf.Text = []string{"2026-01-01T00:00:16Z", "2026-01-01T00:00:40Z", "All"}[g.IntN(3)]
	}
	return r
}

// path follows relations at random, and may end in an aggregate.
func (g generator) path(typ *meta.Type, depth int) string {
	var parts []string
	for {
		a := typ.Attrs[g.IntN(len(typ.Attrs))]
		if a.Name == "Days" { // its value changes with the clock
			continue
		}
		part := a.Name
		if a.Kind != meta.Relation {
			return strings.Join(append(parts, part), ".") + g.aggregate(a)
		}
		typ = a.Related
		if g.IntN(6) == 0 {
			typ = typ.Concrete[g.IntN(len(typ.Concrete))]
			part += ":" + typ.Name
		}
		if g.IntN(6) == 0 {
			part += "[" + g.filter(typ, 1) + "]"
		}
		parts = append(parts, part)
		if depth--; depth == 0 || g.IntN(3) == 0 {
			return strings.Join(parts, ".") + []string{"", ".@Count", ".@DistinctCount"}[g.IntN(3)]
		}
	}
}

func (g generator) aggregate(a *meta.Attr) string {
	if g.IntN(3) > 0 {
		return ""
	}
	switch a.Kind {
	case meta.Numeric:
		return []string{".@Sum", ".@Min", ".@Max"}[g.IntN(3)]
	case meta.Date:
		return []string{".@MinDate", ".@MaxDate"}[g.IntN(2)]
	case meta.Boolean:
		return []string{".@And", ".@Or"}[g.IntN(2)]
	case meta.State:
		return ".@MaxState"
	}
	return ".@Count"
}

func (g generator) filter(typ *meta.Type, terms int) string {
	var b strings.Builder
	for i := range 1 + g.IntN(terms) {
		if i > 0 {
			b.WriteString([]string{";", "|"}[g.IntN(2)])
		}
		path := g.path(typ, 2)
		switch g.IntN(6) {
		case 0:
			b.WriteString("+" + path)
		case 1:
			b.WriteString("-" + path)
		case 2:
			b.WriteString(path)
		default:
			ops := []string{"=", "!=", "=", "<", ">", "<=", ">=", "~="}
			values := []string{"", "true", "false", "0", "1", "64", "128", "5", "Login", "zoe", "2026-01-01", "Story:1020", "Member:1003", "Scope:1000", "Epic:1010", "Dead", "Story"}
			b.WriteString(path + ops[g.IntN(len(ops))] + "'" + values[g.IntN(len(values))] + "'")
		}
	}
	return b.String()
}
