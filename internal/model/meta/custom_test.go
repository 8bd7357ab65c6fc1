package meta

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

func attrOf(t *testing.T, m *Model, token string) *Attr {
	t.Helper()
	typ, name, _ := strings.Cut(token, ".")
	on, ok := m.Type(typ)
	if !ok {
		t.Fatalf("no type %s", typ)
	}
	a, ok := on.Attr(name)
	if !ok {
		t.Fatalf("no attribute %s", token)
	}
	return a
}

// Custom attributes are inherited by the types below, relations work in both directions, and
// the values have the specified place.
func TestExtend(t *testing.T) {
	m := extended(t)
	for token, want := range map[string]Place{
		"Story.Custom_Text":                {Kind: InAttrs, Column: "Custom_Text"},
		"Story.Custom_Weight":              {Kind: InAttrs, Column: "Custom_Weight"},
		"Defect.Custom_Weight":             {Kind: InAttrs, Column: "Custom_Weight"},
		"Epic.Custom_Due":                  {Kind: InAttrs, Column: "Custom_Due"},
		"Story.Custom_Origin":              {Kind: InLinks, Code: 10000},
		"Custom_OriginType.Custom_Stories": {Kind: InLinksBack, Code: 10000},
		"Test.Custom_Reviewers":            {Kind: InLinks, Code: 10001},
		"Member.Custom_Reviews":            {Kind: InLinksBack, Code: 10001},
		"Scope.Custom_Sponsor":             {Kind: InLinks, Code: 10002},
		"Custom_OriginType.Custom_Color":   {Kind: InAttrs, Column: "Custom_Color"},
		"Custom_OriginType.Name":           {Kind: InColumn, Column: "name"},
	} {
		a := attrOf(t, m, token)
		if a.Place.Kind != want.Kind || a.Place.Code != want.Code || a.Place.Column != want.Column {
			t.Errorf("%s lies in %+v", token, a.Place)
		}
		if a.Custom == a.Canned || a.Custom != strings.Contains(a.Name, "Custom_") || a.Custom != (a.Definition != 0) {
			t.Errorf("%s: custom %v, canned %v, defined by %d", token, a.Custom, a.Canned, a.Definition)
		}
	}
	if a := attrOf(t, m, "Story.Custom_Weight"); !a.Required || a.Declared.Name != "PrimaryWorkitem" {
		t.Errorf("%s: required %v, declared by %s", a.Token(), a.Required, a.Declared.Name)
	}
	if !attrOf(t, m, "Member.Custom_Reviews").Multi || attrOf(t, m, "Member.Custom_Reviews").ReadOnly {
		t.Error("a relation to many is written from both sides")
	}
	if !attrOf(t, m, "Custom_OriginType.Custom_Stories").ReadOnly {
		t.Error("a relation to one is written from its side alone")
	}
	for _, name := range []string{"Custom_Text", "Custom_Origin", "Custom_Regression"} {
		if p, ok := m.types["PrimaryWorkitem"].Partial(name); !ok || p.Clash != "" {
			t.Errorf("PrimaryWorkitem.%s of some types below: %v", name, p)
		}
	}
	if _, ok := Default().types["Story"].Attr("Custom_Text"); ok {
		t.Error("the model itself has changed")
	}
}

// A custom list is like other lists: in its operations, its rights and the relations to it.
func TestCustomLists(t *testing.T) {
	m := extended(t)
	list, _ := m.Type("Custom_OriginType")
	status, _ := m.Type("StorySource")
	if list.Parent != status.Parent || list.Code != 10000 || !list.Custom || list.Definition != 5001 || list.DisplayNames["Scrum"] != "Origin" {
		t.Errorf("%+v", list)
	}
	if list.Rights.Kind != status.Rights.Kind || len(list.Ops) != len(status.Ops) || list.OrderBy != status.OrderBy {
		t.Error("it differs from other lists")
	}
	found := 0
	for _, c := range list.Parent.Concrete {
		if c.Custom {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d custom lists are lists, want the one in use", found)
	}
}

// Retired attributes and lists are kept, but not found by name.
func TestRetired(t *testing.T) {
	m := extended(t)
	defect, task := m.types["Defect"], m.types["Task"]
	for typ, names := range map[*Type][]string{defect: {"Custom_Weighed"}, task: {"Custom_Gone", "Custom_Former"}} {
		for _, name := range names {
			if _, ok := typ.Attr(name); ok {
				t.Errorf("%s.%s is found", typ.Name, name)
			}
			if !slices.ContainsFunc(typ.Kept, func(a *Attr) bool { return a.Name == name && !a.Required }) {
				t.Errorf("%s does not keep %s", typ.Name, name)
			}
		}
		if len(typ.Kept) != len(names) {
			t.Errorf("%s keeps %v", typ.Name, typ.Kept)
		}
	}
	if _, ok := m.types["PrimaryWorkitem"].Partial("Custom_Weighed"); ok {
		t.Error("a type above finds it")
	}
	if a, ok := m.LinkByCode(10003); !ok || a.Name != "Custom_Gone" || !a.Retired {
		t.Errorf("code 10003 is %v", a)
	}
	if _, ok := m.Type("Custom_Former"); ok {
		t.Error("a retired list is found by name")
	}
	if former, ok := m.TypeByCode(10001); !ok || former.Name != "Custom_Former" || len(former.Kept) != 1 || former.Rights.Kind == nil {
		t.Errorf("code 10001 is %v", former)
	}
}

// If a list is retired, the reciprocals of its attributes are retired, too.
func TestAttributesOfARetiredListLeadNowhere(t *testing.T) {
	for _, retired := range []bool{false, true} {
		m, err := Default().Extend(Custom{
			Lists:      []CustomList{{ID: 1, Name: "Custom_L", Code: 10000, Retired: retired}},
			Attributes: []CustomAttribute{{ID: 2, Type: "Custom_L", Name: "Custom_Story", Kind: Relation, To: "Story", Back: "Custom_Back", Code: 10000}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := m.types["Story"].Attr("Custom_Back"); ok == retired {
			t.Errorf("the list is retired: %v, Story.Custom_Back is found: %v", retired, ok)
		}
	}
}

// An attribute in use takes precedence over a retired attribute of the same name.
func TestRetiredNamesGiveWay(t *testing.T) {
	m, err := Default().Extend(Custom{Attributes: []CustomAttribute{
		{ID: 1, Type: "Story", Name: "Custom_A", Kind: Text, Retired: true},
		{ID: 2, Type: "Story", Name: "Custom_A", Kind: Text},
	}})
	if err != nil || attrOf(t, m, "Story.Custom_A").Definition != 2 {
		t.Errorf("%v", err)
	}
}

// Only entries that do not fit are left out.
func TestExtendLeavesOut(t *testing.T) {
	for _, c := range []struct {
		attr CustomAttribute
		want string
	}{
		{CustomAttribute{ID: 9, Type: "Stories", Name: "Custom_A", Kind: Text}, "no type Stories"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Name", Kind: Text}, "taken"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_Weight", Kind: Text}, "taken"},
		{CustomAttribute{ID: 9, Type: "Workitem", Name: "Custom_Text", Kind: Text}, "taken"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Rank}, "no attribute type"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Text, Code: 9}, "column 9"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Text, Code: -1}, "column -1"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: LongText, Code: 1}, "column 1"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Date, Code: 2}, "column 2"},
		{CustomAttribute{ID: 9, Type: "Workitem", Name: "Custom_A", Kind: Date, Code: 2}, "column 2"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Nothing", Code: 10009}, "no type Nothing"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Member"}, "link code 0"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Member", Code: 1}, "link code 1"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Member", Code: 10000}, "link code 10000"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Member", Code: 10009, Back: "OwnedWorkitems"}, "Member has a OwnedWorkitems"},
		{CustomAttribute{ID: 9, Type: "Story", Name: "Custom_A", Kind: Relation, To: "Workitem", Code: 10009, Back: "Custom_A"}, "Workitem has a Custom_A"},
	} {
		m, err := Default().Extend(Custom{Attributes: []CustomAttribute{
			{ID: 1, Type: "PrimaryWorkitem", Name: "Custom_Weight", Kind: Numeric},
			{ID: 2, Type: "Story", Name: "Custom_Text", Kind: Text},
			{ID: 3, Type: "Story", Name: "Custom_Other", Kind: Relation, To: "Member", Code: 10000},
			{ID: 4, Type: "PrimaryWorkitem", Name: "Custom_Day", Kind: Date, Code: 2},
			c.attr,
		}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.attr, err)
		}
		attrOf(t, m, "Story.Custom_Weight")
	}
	m, err := Default().Extend(Custom{Lists: []CustomList{
		{Name: "Story", Code: 10000}, {Name: "Custom_A", Code: 1}, {Name: "Custom_B", Code: 10000}, {Name: "Custom_C", Code: 10000}, {Name: "Custom_D"},
	}})
	if _, ok := m.Type("Custom_B"); !ok || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("%v", err)
	}
}

// Several models of one file may be made at the same time.
func TestExtendAtOnce(t *testing.T) {
	m := Default()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := m.Extend(Custom{Attributes: []CustomAttribute{{ID: 1, Type: "Story", Name: "Custom_A", Kind: Text}}}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func BenchmarkExtend(b *testing.B) {
	m := Default()
	for b.Loop() {
		if _, err := m.Extend(Custom{Attributes: []CustomAttribute{{ID: 1, Type: "Story", Name: "Custom_A", Kind: Text}}}); err != nil {
			b.Fatal(err)
		}
	}
}
