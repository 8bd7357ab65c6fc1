package localizer

import (
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
)

// TestTexts checks that the most specific text applies, and that every tag has a text.
func TestTexts(t *testing.T) {
	l := New(meta.Default(), "Scrum").With([]Override{
		{Tag: "AssetType'Defect", Text: "Bug"},
		{Tag: "AttributeDefinition'Estimate'Workitem", Text: "Size"},
		{Tag: "Violation'Required'Story.Name", Text: "Say what it is"},
		{Tag: "a", Text: "{0} and {1} of {AssetType'Story}"},
	})
	for _, c := range []struct{ why, tag, want string }{
		{"a type", "AssetType'Story", "Backlog Item"},
		{"a type alone", "Story", "Backlog Item"},
		{"set", "AssetType'Defect", "Bug"},
		{"set, alone", "Defect", "Bug"},
		{"an attribute", "AttributeDefinition'DetailEstimate'Task", "Detail Estimate"},
		{"an attribute of any type", "AttributeDefinition'DetailEstimate", "Detail Estimate"},
		{"with letters", "AttributeDefinition'ACLMask'ManyToManyRelationDefinition", "ACL Mask"},
		{"said of a type above", "AttributeDefinition'Name'Defect", "Title"},
		{"not said of this one", "AttributeDefinition'Name'Member", "Name"},
		{"set of a type above", "AttributeDefinition'Estimate'Story", "Size"},
		{"not of this one", "AttributeDefinition'Estimate'Scope", "Estimate"},
		{"called after a type", "AttributeDefinition'Defects'Epic", "Defects"},
		{"an operation", "Operation'QuickClose'Story", "Quick Close"},
		{"an operation with the name of a type", "Operation'EpicToStory'Story", "Convert to Backlog Item"},
		{"a role", "Role.Name'System Admin", "System Admin"},
		{"with a part left out", "Violation'Required'Defect.Name", "Title is required"},
		{"set with all parts", "Violation'Required'Story.Name", "Say what it is"},
		{"two parts left out", "Resolution'Unresolved'Story.Status'StoryStatus", "Status: no such Story Status, or more than one"},
		{"an operation left out", "Denied'Story.QuickClose", "Not allowed: Quick Close (Backlog Item)"},
		{"no such attribute left out", "Violation'Required'Story.Nothing", "Nothing (Backlog Item) is required"},
		{"what is set refers to no tags", "a'b'c", "b and c of {AssetType'Story}"},
		{"a part is no place", "a'{1}'{0}", "{1} and {0} of {AssetType'Story}"},
		{"fewer parts than places", "a'b", "b and {1} of {AssetType'Story}"},
		{"unknown", "No'such'thing", "thing"},
		{"unknown, one part", "thing", "thing"},
		{"an unknown attribute", "AttributeDefinition'Custom_OldName'Story", "Old Name"},
		{"an unknown type", "AssetType'Custom_Origin", "Origin"},
		{"kinds are no names", "Operation'x", "x"},
		{"an empty part", "AssetType'", "AssetType'"},
		{"only separators", "''", "''"},
		{"nothing", "", ""},
	} {
		if got := l.In("").Of(c.tag); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.why, c.tag, got, c.want)
		}
	}
}

// TestMethodologies checks the names of types in each methodology, and the names that are derived
// from the names of types.
func TestMethodologies(t *testing.T) {
	for _, c := range []struct{ methodology, story, timeboxes, theme string }{
		{"XP", "Story", "Iterations", "Theme"},
		{"Scrum", "Backlog Item", "Sprints", "Feature Group"},
		{"AgileUP", "Requirement", "Iterations", "Use Case"},
		{"DSDM", "Requirement", "Iterations", "Feature Group"},
	} {
		x := New(meta.Default(), c.methodology).In("")
		got := []string{x.Of("AssetType'Story"), x.Of("AttributeDefinition'Timeboxes'Schedule"), x.Of("AttributeDefinition'Parent'Story")}
		if want := []string{c.story, c.timeboxes, c.theme}; strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", c.methodology, got, want)
		}
	}
}

// TestCustom checks that custom attributes and lists have the names that administrators
// chose, on every type that has them.
func TestCustom(t *testing.T) {
	m, err := meta.Default().Extend(meta.Custom{
		Lists:      []meta.CustomList{{ID: 5001, Name: "Custom_OriginType", Display: "Where from", Code: 10000}, {ID: 5003, Name: "Custom_RiskLevel", Code: 10001}},
		Attributes: []meta.CustomAttribute{{ID: 5002, Type: "Workitem", Name: "Custom_Weight", Display: "Weight in kg", Kind: meta.Numeric}},
	})
	if err != nil {
		t.Fatal(err)
	}
	base := New(meta.Default(), "Scrum").With([]Override{{Tag: "AttributeDefinition'Custom_Weight'Task", Language: "en", Text: "Load"}})
	x := base.WithModel(m).In("")
	for tag, want := range map[string]string{
		"AssetType'Custom_OriginType":              "Where from",
		"AssetType'Custom_RiskLevel":               "Risk Level",
		"AttributeDefinition'Custom_Weight'Story":  "Weight in kg",
		"AttributeDefinition'Custom_Weight'Task":   "Load",
		"AttributeDefinition'Custom_Weight'Member": "Weight",
	} {
		if got := x.Of(tag); got != want {
			t.Errorf("%s is %q, want %q", tag, got, want)
		}
	}
}

// TestTextsAreBounded checks that a text with many placeholders results in a text of at most
// MaxText characters.
func TestTextsAreBounded(t *testing.T) {
	l := New(meta.Default(), "Scrum").With([]Override{{Tag: "x", Text: strings.Repeat("{0}{1}", MaxText/6)}})
	got := l.In("").Of("x'" + strings.Repeat("é", MaxTag/2) + "'" + strings.Repeat("ß", MaxTag/2-3))
	if n := len([]rune(got)); n != MaxText {
		t.Errorf("%d characters", n)
	}
}

// TestTags checks which tags are allowed.
func TestTags(t *testing.T) {
	for tag, want := range map[string]bool{
		"Role.Name'System Admin": true, "Ä'ö": true, strings.Repeat("é", MaxTag): true, strings.Repeat("é", MaxTag+1): false,
		"": false, " a": false, "a,b": false, "[a": false, "a\nb": false, "a\xff": false,
	} {
		if IsTag(tag) != want {
			t.Errorf("%.20q: %v", tag, !want)
		}
	}
}
