package models

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleModel returns a model with a subtype and a list.
func sampleModel() *model {
	m := &model{
		types: []*modelType{
			{Name: "Base", DisplayName: "Base"},
			{Name: "Story", Base: "Base", DisplayName: "Backlog Item"},
			{Name: "List", DisplayName: "List"},
			{Name: "Custom_Origin", Base: "List", DisplayName: "Where from"},
		},
		byName: map[string]*modelType{},
		attributes: []modelPart{
			{Name: "Name", Of: "Base", DisplayName: "Title"},
			{Name: "DetailEstimate", Of: "Story", DisplayName: "Detail Estimate"},
			{Name: "Estimate", Of: "Base", DisplayName: "Points"},
			{Name: "Name", Of: "List", DisplayName: "Name"},
		},
		operations: []modelPart{{Name: "Delete", Of: "Base", DisplayName: "Delete"}},
	}
	for _, t := range m.types {
		m.byName[t.Name] = t
	}
	return m
}

func TestSearchModel(t *testing.T) {
	for text, want := range map[string][]string{
		"estimate":        {"Base.Estimate", "Story.DetailEstimate"},
		"detail estimate": {"Story.DetailEstimate"},
		"points":          {"Base.Estimate"},
		"BACKLOG":         {"Story"},
		"story.est":       {"Story.Estimate", "Story.DetailEstimate"},
		"story.name":      {"Story.Name"},
		"backlog item.d":  {"Story.DetailEstimate", "Story.Delete"},
		"custom":          {"Custom_Origin"},
		"nothing":         nil,
		"nothing.name":    nil,
	} {
		var got []string
		for _, h := range sampleModel().search(text) {
			got = append(got, strings.TrimSuffix(h.Type+"."+h.Part, "."))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// TestTree checks that each type is listed once below its base. It also checks that the method
// above ends if bases form a cycle.
func TestTree(t *testing.T) {
	m := sampleModel()
	var shape func(all []*typeBranch) string
	shape = func(all []*typeBranch) (text string) {
		for _, b := range all {
			text += b.Name + "(" + shape(b.Below) + ")"
		}
		return text
	}
	if got := shape(m.tree()); got != "List(Custom_Origin())Base(Story())" {
		t.Error(got)
	}
	m.byName["Base"].Base = "Story"
	if got := m.above("Story"); len(got) > len(m.types) {
		t.Error(got)
	}
}

func TestConditionInWords(t *testing.T) {
	for filter, want := range map[string]struct {
		words []string
		rest  string
	}{
		"":                     {[]string{"not Deleted"}, ""},
		"AssetState!='255'":    {[]string{"not Deleted"}, ""},
		"AssetState='0','64'":  {[]string{"Future, Active"}, ""},
		"AssetState='7'":       {[]string{"7"}, ""},
		"AssetState='64';ID!=": {[]string{"Active", "not one that alds needs"}, ""},
		"AssetState='64';Scope;Scope.AssetState!='255';Scope.SecurityScope.ParentMeAndUp[AssetState='255'].@Count='0'": {
			[]string{"Active", "its Scope not deleted"}, "",
		},
		"AssetState='208';(A.AssetState='255'|-A.Subs;-A.Children)": {[]string{"Broken Down"}, "A.AssetState='255'|-A.Subs;-A.Children"},
		"IsCustom='true';Name='a;b'":                                {nil, "IsCustom='true';Name='a;b'"},
	} {
		words, rest := conditionInWords(filter)
		if diff := cmp.Diff(want.words, words); diff != "" || rest != want.rest {
			t.Errorf("%s: %s, rest %q", filter, diff, rest)
		}
	}
}

func TestRolesOf(t *testing.T) {
	roles := []role{{"Role:0", "Role.Name'No Access"}, {"Role:1", "Role.Name'System Admin"}, {"Role:4", "Testers"}, {"Role:4000", "Own"}, {"none", ""}}
	if diff := cmp.Diff([]string{"System Admin", "Testers"}, rolesOf(1<<1|1<<4|1<<9, roles)); diff != "" {
		t.Error(diff)
	}
}

// TestEffects checks that every operation in the specification has a description, and that no
// other operation has one.
func TestEffects(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "### 3.2 Operations")
	section, _, _ = strings.Cut(section, "### 3.3")
	listed := map[string]bool{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(cells[1], -1) {
			listed[name[1]] = true
			for typ := range strings.SplitSeq(cells[2], ",") {
				if effectOf(name[1], strings.TrimSpace(typ)) == "" {
					t.Errorf("%s of %s has no words", name[1], typ)
				}
			}
		}
	}
	for name := range effects {
		if _, after, found := strings.Cut(name, "."); found {
			name = after
		}
		if !listed[name] {
			t.Errorf("%s is in no specification", name)
		}
	}
}

func TestNewAttribute(t *testing.T) {
	for want, a := range map[string]newAttribute{
		`{"Asset":"Story","AssetType":"AttributeDefinition","AttributeType":"Text","Name":"Custom_A"}`: {Name: "Custom_A", Type: "Story", Kind: "Text"},
		`{"Asset":"Story","AssetType":"AttributeDefinition","AttributeType":"Relation","DisplayName":"A","IsMultivalue":true,"Name":"Custom_A","RelatedAssetType":"Member","ReverseName":"Custom_B"}`: {
			Name: "Custom_A", Type: "Story", Kind: "Relation", DisplayName: "A", Related: "Member", ReverseName: "Custom_B", Many: true,
		},
		`{"Asset":"Story","AssetType":"AttributeDefinition","AttributeType":"Date","IsDateOnly":true,"IsRequired":true,"Name":"Custom_A"}`: {Name: "Custom_A", Type: "Story", Kind: "Date", DateOnly: true, Required: true},
	} {
		got, err := json.Marshal(a.command())
		if err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestValueNames(t *testing.T) {
	if diff := cmp.Diff([]string{"One", "Two words"}, valueNames("One\r\n\r\n  Two words \n")); diff != "" {
		t.Error(diff)
	}
}

func TestGoes(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'SimpleAttributeDefinition.Assets: 2 assets have a value":                        "2 assets have a value",
		"Violation'Invalid'AssetType.Assets: the list has 2 values":                                         "the list has 2 values",
		"Violation'Invalid'AssetType.Name: Story.Custom_A leads to the list; delete it with its data first": "",
	} {
		got := ""
		if m := toGo.FindStringSubmatch(message); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s: %q", message, got)
		}
	}
}

func TestCalled(t *testing.T) {
	for _, c := range [][3]string{{"TestSet", "Test Set", ""}, {"Story", "Backlog Item", "Backlog Item"}, {"Splitto", "Split to", ""}, {"A", "", ""}} {
		if got := called(c[0], c[1]); got != c[2] {
			t.Errorf("%q: %q", c, got)
		}
	}
}

// TestAttributeRefusal checks that a refusal about an attribute uses the labels of the form.
func TestAttributeRefusal(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'AttributeDefinition.Asset":            "Of the type: it is required",
		"Violation'Required'AttributeDefinition.RelatedAssetType": "Leads to the type or list: it is required",
		"Violation'Required'AttributeDefinition.Name":             "Name is required",
	} {
		if got := attributeRefusal(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// TestWouldGo checks that one asset is written in the singular.
func TestWouldGo(t *testing.T) {
	for message, want := range map[string]string{
		"Violation'Required'AssetType.Assets: the list has 1 values":                    "the list has 1 value",
		"Violation'Required'AssetType.Assets: the list has 21 values":                   "the list has 21 values",
		"Violation'Required'SimpleAttributeDefinition.Assets: 1 assets have a value":    "1 asset has a value",
		"Violation'Required'SimpleAttributeDefinition.Assets: 1001 assets have a value": "1001 assets have a value",
		"Violation'Invalid'AssetType.Name: there is one already":                        "",
	} {
		if got := wouldGo(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
}

// TestValuesTwice checks that repeated values are refused, regardless of case.
func TestValuesTwice(t *testing.T) {
	for text, refused := range map[string]bool{"Web\nPhone": false, "Web\n\tweb\n": true, "": false, "Ä\nä": true} {
		if err := checkValues(valueNames(text)); (err != nil) != refused {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMisfit checks the messages about fields that do not fit the kind of the attribute.
func TestMisfit(t *testing.T) {
	for want, a := range map[string]newAttribute{
		"":                          {Kind: "Relation", Related: "Member", ReverseName: "Custom_Back", Many: true},
		"Leads to the type or list": {Kind: "Text", Related: "Member"},
		"Its name on that type":     {Kind: "Date", ReverseName: "Custom_Back", DateOnly: true},
		"To many":                   {Kind: "Numeric", Many: true},
		"A day without a time":      {Kind: "Text", DateOnly: true},
	} {
		if got := a.misfit(); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%+v: %q, want %q", a, got, want)
		}
	}
}
