package memfilter

import (
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/events/change"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

var model = meta.Default()

// made returns a version of an asset. values maps names of attributes to the values of their
// columns.
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

// TestEvaluate checks filters that are evaluated in memory, and filters whose result is Unknown.
// The property test in package webhook compares the results with the results of the database.
func TestEvaluate(t *testing.T) {
	story := made(t, "Story", 2000, 20, db.Forever, map[string]any{"Name": "In Work", "Scope": int64(0), "Super": int64(1500), "Estimate": 3.0})
	related := Related{versions: map[int64][]change.Version{
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
		related     Related
		want        Truth
	}{
		{"text as the databases compare it", "Name='in work'", &auth.System, Related{}, True},
		{"a number", "Estimate>'3'", &auth.System, Related{}, False},
		{"a related asset as it was then", "Super.Name='then'", &auth.System, related, True},
		{"not as it was before", "Super.Name='before'", &auth.System, related, False},
		{"not as it is now", "Super.Name='after'", &auth.System, related, False},
		{"no related assets", "Super.Name='then'", &auth.System, Related{}, Unknown},
		{"what is known decides all the same", "Super.Name='then';Estimate>'3'", &auth.System, Related{}, False},
		{"the related asset is hidden", "Super.Name='then'", low, related, False},
		{"a hidden asset is no value", "Super=''", low, related, True},
		{"the relation names it", "Super='Epic:1500'", &auth.System, related, True},
		{"somebody's rights, not known yet", "Estimate='3'", nil, Related{}, Unknown},
		{"which do not matter for a no", "Estimate='4'", nil, Related{}, False},
		{"rights elsewhere", "Estimate='3'", &auth.Actor{Member: 22, Scopes: []int64{1600}}, related, False},
		{"to many", "Owners='Member:20'|Name='in work'", &auth.System, Related{}, True},
		{"to many decides", "Owners='Member:20';Name='in work'", &auth.System, Related{}, Unknown},
	}
	for _, tt := range tests {
		t.Run(tt.why, func(t *testing.T) {
			f := New(model, story.Type, []string{tt.filter}, nil, tt.who != &auth.System)
			if f == nil {
				t.Fatal("not compiled")
			}
			if got := f.Evaluate(Input{Version: &story, Related: tt.related, Actor: tt.who}); got != tt.want {
				t.Errorf("%d, want %d", got, tt.want)
			}
		})
	}
	for _, filter := range []string{"Owners='Member:20'", "Super.Super.Super.Name='x'", "Description='x'", "Children.@Count>'0'", "CanUpdate='true'", "IsReadOnly='false'", "Super.IsDeletable='true'"} {
		if New(model, story.Type, []string{filter}, nil, false) != nil {
			t.Errorf("%s is compiled", filter)
		}
	}
}

// TestWhatIsSeenByRules checks who sees a member. This depends on the members in Actor.Members. The
// rules of other types are not evaluated in memory.
func TestWhatIsSeenByRules(t *testing.T) {
	member := made(t, "Member", 77, 20, db.Forever, map[string]any{"Name": "x"})
	message := made(t, "Message", 78, 20, db.Forever, map[string]any{"Name": "x"})
	for why, c := range map[string]struct {
		version *change.Version
		who     auth.Actor
		want    Truth
	}{
		"one of the members":                  {&member, auth.Actor{Member: 21, Members: []int64{21, 77}}, True},
		"none of them":                        {&member, auth.Actor{Member: 21, Members: []int64{21}}, False},
		"they are not known":                  {&member, auth.Actor{Member: 21}, Unknown},
		"oneself":                             {&member, auth.Actor{Member: 77}, True},
		"an administrator":                    {&member, auth.Actor{Member: 21, System: meta.MemberAdmin}, True},
		"what is seen through something else": {&message, auth.Actor{Member: 21}, Unknown},
		"everything":                          {&message, auth.System, True},
	} {
		f := New(model, c.version.Type, []string{"Name='x'"}, nil, true)
		if got := f.Evaluate(Input{Version: c.version, Actor: &c.who}); got != c.want {
			t.Errorf("%s: %d, want %d", why, got, c.want)
		}
	}
}
