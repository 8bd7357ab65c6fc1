package sqlgen_test

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// FuzzCompile compiles queries with any token, filter and order. It expects no panic, only errors
// of the kind Invalid, and as many arguments as placeholders.
func FuzzCompile(f *testing.F) {
	for _, s := range [][4]string{
		{"Story", "Owners.Name", "Name='a'", "Order"},
		{"Scope", "Workitems:Story[Owners.@Count!='0'].Estimate.@Sum", "ParentMeAndUp='Scope:0'", "-Workitems.@Count"},
		{"Workitem", "Task.ToDo", "+Owners;-SuperAndUp[Scope=$]", "AssetType,-Parent.Name"},
		{"Member", "OwnedWorkitems[Children=$].Super.Number", "IsSelf=true|CheckDelete", "DefaultRole"},
		{"Story", "History.Prior.ClosedDate", "Timebox[State.Code='ACTV'].Owner.Followers.Name~='x'", "AllocatedToDo"},
		{"Epic", "SubsMeAndDown:Story.Children.ToDo.@Max", "ID.ID='Epic:1';Category.Name!='',' '", "ID"},
		{"Story:7", "Scope#.Children.Workitems.TaggedWith", "TaggedWith='a','b';AssetState='Dead','64'", "+Status.Order"},
		{"Note", "Asset:Story.Owners.@DistinctCount", "SecurityScope.ParentAndUp.Name='x'", "Asset.Name"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	m := meta.Default()
	f.Fuzz(func(t *testing.T, from, token, filter, sort string) {
		r := query.Request{
			From:   query.Text{Text: from},
			Select: []query.Item{{Text: query.Text{Text: token}}, {Sub: &query.Request{From: query.Text{Text: token}, Filter: []query.Text{{Text: filter}}}}},
			Filter: []query.Text{{Text: filter}},
			Sort:   []query.Text{{Text: sort}},
		}
		compile(t, m, r)
		r.Select = r.Select[:1]
		compile(t, m, r)
		r.Filter, r.Sort = nil, nil
		compile(t, m, r)
	})
}

func compile(t *testing.T, m *meta.Model, r query.Request) {
	t.Helper()
	b, err := query.Bind(m, r)
	if err != nil {
		if fault.KindOf(err) != fault.Invalid {
			t.Fatalf("%+v: %v", r, err)
		}
		return
	}
	_ = b.String()
	for as, visibility := range visibilities {
		for when := range whens {
			p, err := query.NewPlan(b, query.Options{Reader: readerOf(visibility), When: whens[when]})
			if err != nil {
				if fault.KindOf(err) != fault.Invalid {
					t.Fatalf("%+v: %v", r, err)
				}
				continue
			}
			_ = p.String()
			g := golden{as: as, when: when, plan: p}
			for _, d := range []string{"mysql", "sqlite"} {
				for _, s := range append(g.statements(db.DialectNamed(d)), (sqlgen.Writer{Dialect: db.DialectNamed(d), Visibility: visibility}).Total(p)) {
					if n := strings.Count(s.SQL, "?"); n != len(s.Args) {
						t.Fatalf("%d placeholders, %d arguments: %s", n, len(s.Args), s.SQL)
					}
				}
			}
		}
	}
}
