package change

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/model/meta"
)

var model = meta.Default()

func typ(t *testing.T, name string) *meta.Type {
	t.Helper()
	found, ok := model.Type(name)
	if !ok {
		t.Fatalf("no type %s", name)
	}
	return found
}

func attr(t *testing.T, on *meta.Type, name string) *meta.Attr {
	t.Helper()
	a, ok := on.Attr(name)
	if !ok {
		t.Fatalf("no attribute %s.%s", on.Name, name)
	}
	return a
}

// version returns a version with the given column values, which are mapped by column name.
func version(on *meta.Type, state int64, attrs string, columns map[string]any) Version {
	v := Version{ID: 1005, Type: on, State: state, Moment: 2000, Columns: make([]any, len(model.Columns)), Attrs: attrs}
	for i, c := range model.Columns {
		v.Columns[i] = columns[c.Name]
	}
	return v
}

func show(changes []Change) string {
	var lines []string
	for _, c := range changes {
		lines = append(lines, fmt.Sprintf("%s %s %s -> %s", c.Attr.Name, c.Act, showValue(c.Old), showValue(c.New)))
	}
	return strings.Join(lines, "\n")
}

func showValue(v any) string {
	if v == nil {
		return "-"
	}
	if n, ok := v.(json.Number); ok {
		return "#" + n.String()
	}
	return fmt.Sprintf("%v", v)
}

func TestDiff(t *testing.T) {
	story := typ(t, "Story")
	base := map[string]any{"name": "Old", "scope_id": int64(1001), "estimate": 3.0}
	with := func(name string, value any) map[string]any {
		changed := map[string]any{}
		for k, v := range base {
			changed[k] = v
		}
		changed[name] = value
		return changed
	}
	owners, super := attr(t, story, "Owners"), attr(t, story, "Super")
	if super.Place.Kind != meta.InColumn {
		t.Fatal("Story.Super is expected in a column")
	}
	tests := []struct {
		name   string
		before *Version
		now    Version
		edges  []Edge
		want   string
	}{
		{
			name: "nothing changed", before: ref(version(story, 64, "", base)), now: version(story, 64, "", base),
		},
		{
			name: "a scalar is set", before: ref(version(story, 64, "", base)),
			now: version(story, 64, "", with("name", "New")), want: "Name Set Old -> New",
		},
		{
			name: "a scalar is cleared", before: ref(version(story, 64, "", base)),
			now: version(story, 64, "", with("estimate", nil)), want: "Estimate Set 3 -> -",
		},
		{
			name: "a move is told once, under the attribute that can be written", before: ref(version(story, 64, "", base)),
			now: version(story, 64, "", with("scope_id", int64(1002))), want: "Scope Set 1001 -> 1002",
		},
		{
			name: "the state", before: ref(version(story, 64, "", base)),
			now: version(story, 128, "", base), want: "AssetState Set 64 -> 128",
		},
		{
			name: "attributes without a column", before: ref(version(story, 64, `{"Reference":"a"}`, base)),
			now:  version(story, 64, `{"Reference":"b"}`, base),
			want: "Reference Set a -> b",
		},
		{
			name: "the same object in another order is no change", before: ref(version(story, 64, `{"Reference":"a","BuildEstimate":"c"}`, base)),
			now: version(story, 64, `{"BuildEstimate":"c", "Reference":"a"}`, base),
		},
		{
			name: "relation values begin and end", before: ref(version(story, 64, "", base)), now: version(story, 64, "", base),
			edges: []Edge{{Attr: owners, Value: int64(20), Ended: true}, {Attr: owners, Value: int64(21)}, {Attr: owners, Value: int64(22)}},
			want:  "Owners Added - -> 21\nOwners Added - -> 22\nOwners Removed 20 -> -",
		},
		{
			name: "a creation sets everything it has", now: version(story, 64, `{"Reference":"r"}`, base),
			edges: []Edge{{Attr: owners, Value: int64(20)}},
			want: "AssetState Set - -> 64\nName Set - -> Old\nScope Set - -> 1001\nReference Set - -> r\n" +
				"Owners Added - -> 20\nEstimate Set - -> 3",
		},
	}
	d := NewDiffer(model)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changes, err := d.Diff(&Step{Now: tt.now, Before: tt.before, Edges: tt.edges})
			if err != nil {
				t.Fatal(err)
			}
			got, want := lines(show(changes)), lines(tt.want)
			if tt.before == nil { // the order of these changes depends on the model
				got, want = sorted(got), sorted(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiffOfARelationToOneInTheLinkTable(t *testing.T) {
	member := typ(t, "Member")
	role := attr(t, member, "DefaultRole")
	v := version(member, 64, "", nil)
	step := Step{Now: v, Before: &v, Edges: []Edge{
		{Attr: role, Value: int64(-996), Ended: true}, {Attr: role, Value: int64(-999)},
	}}
	changes, err := NewDiffer(model).Diff(&step)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("DefaultRole Set -996 -> -999", show(changes)); diff != "" {
		t.Error(diff)
	}
}

func TestDiffRefusesNonScalars(t *testing.T) {
	story := typ(t, "Story")
	for _, attrs := range []string{`{"Reference":["a"]}`, `{"Reference":{}}`, `[1]`, `{`} {
		before, now := version(story, 64, "", nil), version(story, 64, attrs, nil)
		if _, err := NewDiffer(model).Diff(&Step{Now: now, Before: &before}); err == nil {
			t.Errorf("%s: no error", attrs)
		}
	}
}

func ref(v Version) *Version { return &v }

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
