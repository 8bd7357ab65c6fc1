package webhook

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/events/memfilter"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
)

// someFilters returns random filters. Some filters use only columns of the asset and of related
// assets. Others use other values.
type someFilters struct{ *rand.Rand }

func (g someFilters) one(of ...string) string { return of[g.IntN(len(of))] }

func (g someFilters) term() string {
	sign := g.one("=", "!=", "<", "<=", ">", ">=")
	equal := g.one("=", "!=")
	text := func() string {
		return g.one("'a'", "'A'", "'b'", "'ä'", "'a b'", "'a '", "' '", "'1'", "'a','B'", "'*'", "'#-'", "'ß'", "'ss'")
	}
	hop := func() string { return g.one("", "", "Super.", "Scope.", "Parent.", "Super:Epic.", "Status.") }
	switch g.IntN(11) {
	case 0, 1:
		return hop() + g.one("Name", "Number") + g.one(equal+g.one(text(), "''", "'é',''"), sign+text())
	case 2:
		return g.one("", "", "Super:Epic.") + g.one("Estimate", "ToDo", "Value", "Swag") + sign + g.one("'0'", "'1'", "'0.1'", "'-3'", "'1e3'")
	case 3:
		return "Estimate" + equal + g.one("''", "'0','1'", "'','1'")
	case 4, 5:
		return g.one("Scope", "Super", "Status", "Parent", "Super.Scope", "Scope.Parent", "Super.Super", "Super:Epic", "SecurityScope") + equal +
			g.one("'Scope:0'", "'Scope:1600'", "'Epic:1500'", "'StoryStatus:1501'", "''", "'StoryStatus:1501',''", "'Theme:1500'", "'Theme:1502'", "'Epic:1500','Scope:0'", "'NULL'")
	case 6:
		return hop() + "AssetState" + sign + g.one("'64'", "'Closed'", "'Dead'", "'Active'", "'255'", "'Active','Closed'")
	case 7:
		return g.one("+", "-", "") + hop() + g.one("Name", "Estimate", "Status", "Scope", "Super", "Description", "Owners", "Reference")
	case 8:
		return hop() + "Name~=" + g.one("'a'", "'a*'", "'%b'", "'A%'", "'ss'")
	case 9:
		return g.one("Custom_Cost"+sign+g.one("'0'", "'0.1'", "'-3'"), "Custom_Cost"+equal+g.one("''", "'1',''"), "Custom_Due"+sign+g.one("'2026-01-01'", "'2026-01-01T12:00:00'"),
			"Custom_Motto"+sign+text(), "Custom_Motto"+equal+"''", "Custom_Motto~="+g.one("'a'", "'A%'"), g.one("+", "-")+g.one("Custom_Cost", "Custom_Due", "Custom_Motto"))
	default: // the result in memory is Unknown
		return g.one("Owners='Member:20'", "Children.@Count='0'", "Reference='r'", "Description='x'", "Super.Scope.Name='a'", "Super.Description=''", "CreatedBy='Member:20'")
	}
}

func (g someFilters) filter(depth int) string {
	if depth == 0 || g.IntN(3) == 0 {
		return g.term()
	}
	parts := make([]string, 2+g.IntN(2))
	for i := range parts {
		parts[i] = g.filter(depth - 1)
	}
	return "(" + strings.Join(parts, g.one(";", "|")) + ")"
}

// someActors are members with different rights. They see everything, one project, two projects,
// another project, or no project.
var someActors = []auth.Actor{
	auth.System, auth.System, {Member: 21, Scopes: []int64{0}}, {Member: 21, Scopes: []int64{0, 1600}}, {Member: 22, Scopes: []int64{1600}}, {Member: 23},
}

// TestFiltersInMemoryAgreeWithSQL compares the results of random filters in memory with the results
// of SQL. The filters use assets and related assets with their data at a moment, and with the
// rights of several actors.
func TestFiltersInMemoryAgreeWithSQL(t *testing.T) {
	seed := testseed.New(t)
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		model, err := model.Extend(meta.Custom{Attributes: []meta.CustomAttribute{
			{ID: 1, Type: "Workitem", Name: "Custom_Cost", Kind: meta.Numeric, Code: 1},
			{ID: 2, Type: "PrimaryWorkitem", Name: "Custom_Due", Kind: meta.Date, Code: 8},
			{ID: 3, Type: "Story", Name: "Custom_Motto", Kind: meta.Text, Code: 1},
			{ID: 4, Type: "Defect", Name: "Custom_Motto", Kind: meta.Text, Code: 2},
		}})
		if err != nil {
			t.Fatal(err)
		}
		finder := find.New(d, model)
		f.s = f.s.With(model, finder)
		g := someFilters{rand.New(rand.NewPCG(seed, 2))}
		versions := f.someVersions(g)
		at := make([]oid.OID, len(versions))
		for i, v := range versions {
			at[i] = oid.OID{Type: v.Type.Name, ID: v.Type.Shown(v.ID), Moment: v.Moment}
		}
		asked, decided, agreed, followed := 0, 0, 0, 0
		for asked < 600 {
			from, who := g.one("Story", "Defect", "PrimaryWorkitem", "Workitem"), someActors[g.IntN(len(someActors))]
			var filters []string
			if filter := g.filter(2); who.All || g.IntN(8) > 0 {
				filters = append(filters, filter)
			}
			if finder.CheckDefinition(from, filters, nil, nil, nil) != nil {
				continue
			}
			asked++
			top, _ := model.Type(from)
			y := memfilter.New(model, top, filters, nil, !who.All)
			if y == nil {
				continue
			}
			decided++
			hops := memfilter.Relations{}
			hops.Add(top, y)
			around, err := memfilter.Load(t.Context(), d, f.s.events.Loader, hops, versions)
			if err != nil {
				t.Fatal(err)
			}
			want, err := finder.Matching(t.Context(), d, who, from, filters, nil, at)
			if err != nil {
				t.Fatalf("%s: %v (%v)", filters, err, fault.KindOf(err))
			}
			for i := range versions {
				if !versions[i].Type.IsA(top) {
					continue
				}
				for k, v := range []memfilter.Input{{Version: &versions[i], Related: around, Actor: &who}, {Version: &versions[i], Related: around}, {Version: &versions[i], Actor: &who}} {
					got := y.Evaluate(v)
					if got == memfilter.Unknown {
						continue
					}
					agreed++
					if k < 2 && len(hops) > 0 {
						followed++
					}
					if (got == memfilter.True) != want[i] {
						t.Errorf("%s where %s for %v, rights known %t, around known %t: on %s at %d memory says %t, the database %t", from, filters,
							who.Scopes, v.Actor != nil, k < 2, fmt.Sprint(versions[i]), versions[i].Moment, got == memfilter.True, want[i])
					}
				}
			}
			if t.Failed() {
				return
			}
		}
		if decided < asked/2 || agreed < 30*decided || followed < 10*decided {
			t.Errorf("memory decided %d answers, %d of them after following relations, of %d of %d filters", agreed, followed, decided, asked)
		}
	})
}

// someVersions writes stories and defects with random values, and changes their related assets in
// the same write. It reads the versions in the same way as the fan-out, and returns the versions of
// the stories and defects.
func (f *fixture) someVersions(g someFilters) []change.Version {
	f.Helper()
	pick := func(of ...any) any { return of[g.IntN(len(of))] }
	name := func() any {
		return pick(nil, "", "a", "A", "b", "ä", "a b", "a ", " ", "1", "é", "e\u0301", "É", "#-", "ss", "ß", "ẞ", "😀", "😁", "\u200b", "K", "k", "ς", "Σ", "Ꭰ", "ꭰ")
	}
	scope := func() any { return pick(nil, 0, 1600) }
	f.write(20,
		edit{asset: 0, typ: "Scope", set: map[string]any{"name": "All", "scope_id": 0}},
		edit{asset: 1600, typ: "Scope", set: map[string]any{"name": "a", "parent_id": 0, "scope_id": 1600}},
		edit{asset: 1601, typ: "StoryStatus", set: map[string]any{"name": "Other"}},
		edit{asset: 1500, typ: "Epic", set: map[string]any{"name": "E", "scope_id": 0}},
		edit{asset: 1502, typ: "Theme", set: map[string]any{"name": "a", "scope_id": 1600}},
		edit{asset: 1501, typ: "StoryStatus", set: map[string]any{"name": "Done"}},
	)
	var edits []edit
	for i := range 60 {
		edits = append(edits, edit{asset: int64(3000 + i), typ: g.one("Story", "Defect"), set: map[string]any{
			"name": name(), "number": pick(nil, "a", "B"),
			"estimate": pick(nil, 0.0, 1.0, 0.1, -3.0), "todo": pick(nil, 1.0), "value": pick(nil, 1000.0),
			"scope_id": scope(), "super_id": pick(nil, 1500), "parent_id": pick(nil, 1502), "status_id": pick(nil, 1501, 1601),
			"custom_number_1": pick(nil, 0.0, 0.1, 1.0), "custom_date_8": pick(nil, int64(1767225600000000), int64(1767268800000000)),
			"custom_text_1": pick(nil, "", "a", "A", "a b", "1"), "custom_text_2": pick(nil, "a", "b"),
			"state": pick(0, 64, 128, 200, 208, 255), "attrs": pick(nil, `{"Reference":"r"}`),
		}})
		edits = append(edits, []edit{
			{asset: 1500, set: map[string]any{"name": name(), "state": pick(64, 128, 255), "scope_id": scope(), "value": pick(nil, 0.0, 1.0), "super_id": pick(nil, 1500)}},
			{asset: 1501, set: map[string]any{"name": name()}},
			{asset: 1502, set: map[string]any{"name": name(), "scope_id": scope()}},
		}[g.IntN(3)])
	}
	f.write(20, edits...)
	all, _, err := f.s.events.Loader.Versions(f.Context(), f.d, []change.Audit{{ID: f.audit, First: f.moment - 119, Last: f.moment}}, 200)
	if err != nil || len(all) != 120 {
		f.Fatal(len(all), err)
	}
	return slices.DeleteFunc(all, func(v change.Version) bool { return v.ID < 3000 })
}
