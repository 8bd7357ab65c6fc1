package memfilter

import (
	"testing"

	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/change"
	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/meta"
)

var model = meta.Default()

// made makes a version from values by attribute.
func made(t *testing.T, typ string, id, moment, until int64, values map[string]any) change.Version {
	t.Helper()
	found, ok := model.Type(typ)
	if !ok {
		t.Fatalf("no type %s", typ)
	}
	v := change.Version{ID: id, Type: found, State: 64, Moment: moment, Until: until, Columns: make([]any, len(model.Columns))}
	for name, value := range values {
		a, ok := found.Attr(name)
		if !ok || a.Place.Slot < 0 {
			t.Fatalf("%s.%s has no column", typ, name)
		}
		v.Columns[a.Place.Slot] = value
	}
	return v
}

// What memory can tell, and where it leaves the answer to SQL. That its answers
// are SQL's is held by the property test of package webhook.
func TestDecide(t *testing.T) {
	story := made(t, "Story", 2000, 20, db.Forever, map[string]any{"Name": "In Work", "Scope": int64(0), "Super": int64(1500), "Estimate": 3.0})
	around := Near{versions: map[int64][]change.Version{
		0: {made(t, "Scope", 0, 1, db.Forever, map[string]any{"Name": "All"})},
		1500: {
			made(t, "Epic", 1500, 1, 20, map[string]any{"Name": "before", "Scope": int64(0)}),
			made(t, "Epic", 1500, 20, 30, map[string]any{"Name": "then", "Scope": int64(1600)}),
			made(t, "Epic", 1500, 30, db.Forever, map[string]any{"Name": "after", "Scope": int64(0)}),
		},
	}}
	low := &auth.Actor{Member: 21, Scopes: []int64{0}}
	tests := []struct {
		why, filter string
		who         *auth.Actor
		near        Near
		want        Answer
	}{
		{"text as the databases compare it", "Name='in work'", &auth.System, Near{}, Yes},
		{"a number", "Estimate>'3'", &auth.System, Near{}, No},
		{"a related asset as it was then", "Super.Name='then'", &auth.System, around, Yes},
		{"not as it was before", "Super.Name='before'", &auth.System, around, No},
		{"not as it is now", "Super.Name='after'", &auth.System, around, No},
		{"nothing is known around", "Super.Name='then'", &auth.System, Near{}, Unsure},
		{"what is known decides all the same", "Super.Name='then';Estimate>'3'", &auth.System, Near{}, No},
		{"the related asset is hidden", "Super.Name='then'", low, around, No},
		{"a hidden asset is no value", "Super=''", low, around, Yes},
		{"the relation names it", "Super='Epic:1500'", &auth.System, around, Yes},
		{"somebody's rights, not known yet", "Estimate='3'", nil, Near{}, Unsure},
		{"which do not matter for a no", "Estimate='4'", nil, Near{}, No},
		{"rights elsewhere", "Estimate='3'", &auth.Actor{Member: 22, Scopes: []int64{1600}}, around, No},
		{"to many", "Owners='Member:20'|Name='in work'", &auth.System, Near{}, Yes},
		{"to many decides", "Owners='Member:20';Name='in work'", &auth.System, Near{}, Unsure},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			f := New(model, story.Type, []string{tt.filter}, nil, tt.who != &auth.System)
			if f == nil {
				t.Fatal("memory refuses it")
			}
			if got := f.Decide(View{Now: &story, Near: tt.near, Who: tt.who}); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
	for _, filter := range []string{"Owners='Member:20'", "Super.Super.Super.Name='x'", "Description='x'", "Children.@Count>'0'"} {
		if New(model, story.Type, []string{filter}, nil, false) != nil {
			t.Errorf("%s is not left to SQL", filter)
		}
	}
}
