package webhook

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/find"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/testdb"
)

// someFilters makes filters over what a row holds, and over what it does not.
type someFilters struct{ *rand.Rand }

func (g someFilters) one(of ...string) string { return of[g.IntN(len(of))] }

func (g someFilters) term() string {
	sign := g.one("=", "!=", "<", "<=", ">", ">=")
	equal := g.one("=", "!=")
	text := func() string {
		return g.one("'a'", "'A'", "'b'", "''", "'ä'", "'a b'", "'a '", "' '", "'1'", "'a','B'", "'é',''", "'*'", "'#-'")
	}
	switch g.IntN(9) {
	case 0, 1:
		return g.one("Name", "Number") + equal + text()
	case 2:
		return g.one("Estimate", "ToDo", "Value") + sign + g.one("'0'", "'1'", "'0.1'", "'-3'", "'1e3'")
	case 3:
		return "Estimate" + equal + g.one("''", "'0','1'", "'','1'")
	case 4:
		return g.one("Scope", "Super", "Status", "Parent") + equal +
			g.one("'Scope:0'", "'Epic:1500'", "'StoryStatus:1501'", "''", "'StoryStatus:1501',''", "'Theme:1500'", "'NULL'")
	case 5:
		return "AssetState" + sign + g.one("'64'", "'Closed'", "'Dead'", "'Active'", "'255'", "'Active','Closed'")
	case 6:
		return g.one("+", "-", "") + g.one("Name", "Estimate", "Status", "Scope", "Super", "Description", "Owners", "Reference")
	case 7:
		return "Name~=" + g.one("'a'", "'a*'", "'%b'")
	default: // memory cannot tell
		return g.one("Status.Name='Done'", "Scope.Name!='All'", "Owners='Member:20'", "Children.@Count='0'", "Reference='r'", "Description='x'")
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

// What memory decides of a filter is what the database says.
func TestMemoryAndSQLAgree(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		finder := find.New(d, model)
		g := someFilters{rand.New(rand.NewPCG(seed, 2))}
		f.write(20,
			edit{asset: 0, typ: "Scope", set: map[string]any{"name": "All", "scope_id": 0}},
			edit{asset: 1500, typ: "Epic", set: map[string]any{"name": "E", "scope_id": 0}},
			edit{asset: 1501, typ: "StoryStatus", set: map[string]any{"name": "Done"}},
		)
		versions := f.someVersions(g)
		at := make([]oid.OID, len(versions))
		for i, v := range versions {
			at[i] = oid.OID{Type: v.Type.Name, ID: v.Type.Shown(v.ID), Moment: v.Moment}
		}
		asked, decided, agreed := 0, 0, 0
		for asked < 400 {
			filter, from := g.filter(2), g.one("Story", "Defect", "PrimaryWorkitem", "Workitem")
			if finder.CheckDefinition(from, []string{filter}, nil, nil, nil) != nil {
				continue
			}
			asked++
			c := memoryFilter(model, from, []string{filter}, nil)
			if c == nil {
				continue
			}
			decided++
			want, err := finder.Matching(t.Context(), d, auth.System, from, []string{filter}, nil, at)
			if err != nil {
				t.Fatalf("seed %d: %s: %v (%v)", seed, filter, err, fault.KindOf(err))
			}
			top, _ := model.Type(from)
			for i := range versions {
				if !versions[i].Type.IsA(top) {
					continue
				}
				got := decide(c, &versions[i])
				if got == unsure {
					continue
				}
				agreed++
				if (got == yes) != want[i] {
					t.Errorf("seed %d: %s on %s %s: memory says %t, the database %t", seed, from, filter,
						fmt.Sprint(f.assets[versions[i].ID]), got == yes, want[i])
				}
			}
			if t.Failed() {
				return
			}
		}
		if decided < asked/3 || agreed < 10*decided {
			t.Errorf("memory decided %d answers of %d of %d filters", agreed, decided, asked)
		}
	})
}

// someVersions writes stories and defects with some of everything and reads
// them as fan-out does.
func (f *fixture) someVersions(g someFilters) []change.Version {
	f.Helper()
	pick := func(of ...any) any { return of[g.IntN(len(of))] }
	var edits []edit
	for i := range 60 {
		edits = append(edits, edit{asset: int64(3000 + i), typ: g.one("Story", "Defect"), set: map[string]any{
			"name": pick(nil, "", "a", "A", "b", "ä", "a b", "a ", " ", "1", "é", "#-"), "number": pick(nil, "a", "B"),
			"estimate": pick(nil, 0.0, 1.0, 0.1, -3.0), "todo": pick(nil, 1.0), "value": pick(nil, 1000.0),
			"scope_id": pick(nil, 0), "super_id": pick(nil, 1500), "status_id": pick(nil, 1501),
			"state": pick(0, 64, 128, 200, 208, 255), "attrs": pick(nil, `{"Reference":"r"}`),
		}})
	}
	f.write(20, edits...)
	all, err := f.s.loader.Versions(f.Context(), f.d, []change.Audit{{ID: f.audit, First: f.moment - 59, Last: f.moment}}, 100)
	if err != nil || len(all) != 60 {
		f.Fatal(len(all), err)
	}
	return all
}
