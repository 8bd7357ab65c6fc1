package meta

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Well-known assets to which the model refers must be protected. The model refers to assets in the
// values that an operation sets, in StateFrom, in defaults and in other well-known assets. Assets
// that the code finds by a constant for a state or a role must be protected, too.
func TestWhatTheModelNamesMustStay(t *testing.T) {
	m := Default()
	kept := map[string]bool{}
	for _, in := range m.Instances {
		if in.Type.IsProtected(in.Type.Stored(in.ID)) {
			kept[in.Type.Name+":"+strconv.FormatInt(in.ID, 10)] = true
		}
	}
	names := func(by, value string) {
		typ, number, ok := strings.Cut(value, ":")
		if _, isType := m.Type(typ); !ok || !isType {
			return
		}
		if _, err := strconv.Atoi(number); err == nil && !kept[value] {
			t.Errorf("%s names %s, which may be deleted", by, value)
		}
	}
	for _, typ := range m.Types {
		for _, op := range typ.Ops {
			for _, v := range op.Effect.Set {
				names(typ.Name+"."+op.Name, v)
			}
		}
		for _, token := range slices.Sorted(maps.Keys(typ.StateFrom.States)) {
			names(typ.Name, token)
		}
		for _, a := range typ.Attrs {
			names(a.Token(), a.Default)
		}
	}
	for _, in := range m.Instances {
		for name, v := range in.Attrs {
			names(in.Type.Name+"."+name, v)
		}
	}
	for _, token := range []string{"Scope:0", "Member:20", "State:100", "State:101", "State:102", "Role:0", "Role:12", "Scheme:1001"} {
		if !kept[token] {
			t.Errorf("%s may be deleted", token)
		}
	}
	if kept["StoryStatus:133"] || kept["EpicCategory:208"] {
		t.Error("a value of a list that nothing relies on must stay")
	}
}

// The filter of an operation contains all conditions that the data of the operation states.
func TestConditions(t *testing.T) {
	m := Default()
	for token, want := range map[string]string{
		"Story.Inactivate":    "AssetState='64'",
		"Story.Delete":        "AssetState='0','64','200','208'",
		"Story.Undelete":      "AssetState='255'",
		"Member.Delete":       "AssetState='0','64','200','208';ID!='Member:20'",
		"Scope.Inactivate":    "AssetState='64';ID!='Scope:0'",
		"Scope.Reactivate":    "AssetState='128'",
		"State.Delete":        "AssetState='0','64','200','208';ID!='State:100','State:101','State:102'",
		"BaseAsset.Delete":    "AssetState='0','64','200','208';ID!='Scope:0','Member:20'",
		"Story.Copy":          "AssetState!='255';Scope;Scope.AssetState!='255';Scope.SecurityScope.ParentMeAndUp[AssetState='255'].@Count='0'",
		"Task.DeepCopy":       "AssetState!='255';Parent;Parent.AssetState!='255';Parent.SecurityScope.ParentMeAndUp[AssetState='255'].@Count='0'",
		"Story.EpicToStory":   "AssetState='208';(MorphedInto.AssetState='255'|-MorphedInto.Subs;-MorphedInto.Children)",
		"Scope.ConvertToTeam": "AssetState='64'",
	} {
		typ, name, _ := strings.Cut(token, ".")
		on, _ := m.Type(typ)
		op, ok := on.Op(name)
		if !ok {
			t.Errorf("no operation %s", token)
			continue
		}
		if got := op.Condition(); got != want {
			t.Errorf("%s: got %s, want %s", token, got, want)
		}
	}
}

// Invalid declarations of protected and partOf are refused.
func TestLifecycleOfBrokenFiles(t *testing.T) {
	const head = "columns: {}\noperations: {Delete: {to: 255}}\nsystem:\n  AssetState: {is: State, column: state, readonly: true}\ntypes:\n"
	for _, c := range []struct{ types, want string }{
		{"  T: {code: 1, ops: [Delete], protected: [Nothing]}\n", "T: no plain attribute Nothing to protect"},
		{"  T: {code: 1, ops: [Delete], attributes: {Of: {to: T, link: 1}}, partOf: {relation: Of, ops: [Explode]}}\n", "T: T has no operation Explode"},
		{"  T: {code: 1, ops: [Delete], partOf: {relation: Of, ops: [Delete]}}\n", "T: no attribute Of"},
	} {
		err := loadText(head + c.types)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.types, err, c.want)
		}
	}
}
