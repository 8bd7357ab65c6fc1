package assets

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/web/ui"
)

// someTypes describes a few types, as meta.v1 does.
const someTypes = `{"AssetTypes": {
	"BaseAsset": {"Token": "BaseAsset", "Name": "BaseAsset", "Abstract": true, "Attributes": {"BaseAsset.Name": {"Name": "Name", "AttributeType": "Text"}}, "Name": {}},
	"Workitem": {"Token": "Workitem", "Abstract": true, "Base": {"nameref": "BaseAsset"}, "Attributes": {"Workitem.Name": {"Name": "Name", "AttributeType": "Text"}}},
	"Story": {"Token": "Story", "Base": {"nameref": "Workitem"}, "Attributes": {
		"Story.Name": {"Name": "Name", "AttributeType": "Text"},
		"Story.ToDo": {"Name": "ToDo", "AttributeType": "Numeric"},
		"Story.Open": {"Name": "Open", "AttributeType": "Numeric", "IsReadOnly": true},
		"Story.Risk": {"Name": "Risk", "AttributeType": "Relation", "RelatedAsset": {"nameref": "Workitem"}},
		"Story.Children": {"Name": "Children", "AttributeType": "Relation", "IsMultivalue": true, "IsReadOnly": true},
		"Story.ChildrenAndDown": {"Name": "ChildrenAndDown", "AttributeType": "Relation", "IsMultivalue": true, "IsReadOnly": true},
		"Story.UpAndDown": {"Name": "UpAndDown", "AttributeType": "Relation", "IsMultivalue": true},
		"Story.Helpers": {"Name": "Helpers", "AttributeType": "Relation", "IsMultivalue": true, "RelatedAsset": {"nameref": "Member"}},
		"Story.Viewers": {"Name": "Viewers", "AttributeType": "Relation", "IsMultivalue": true, "IsReadOnly": true, "RelatedAsset": {"nameref": "Member"}},
		"Story.Goals": {"Name": "Goals", "AttributeType": "Relation", "IsMultivalue": true, "RelatedAsset": {"nameref": "Workitem"}, "ReciprocalRelation": {"tokenref": "Workitem.Stories"}},
		"Story.Owners": {"Name": "Owners", "AttributeType": "Relation", "IsMultivalue": true, "RelatedAsset": {"nameref": "Member"}},
		"Story.Status": {"Name": "Status", "AttributeType": "Relation", "RelatedAsset": {"nameref": "StoryStatus"}},
		"Story.ChangeDate": {"Name": "ChangeDate", "AttributeType": "Date", "IsReadOnly": true},
		"Story.Due": {"Name": "Due", "AttributeType": "Date"}}},
	"Epic": {"Token": "Epic", "Base": {"nameref": "Workitem"}, "Attributes": {
		"Epic.Name": {"Name": "Name", "AttributeType": "Text"}, "Epic.Risk": {"Name": "Risk", "AttributeType": "Numeric"}}},
	"Member": {"Token": "Member", "Base": {"nameref": "BaseAsset"}, "Attributes": {}},
	"List": {"Token": "List", "Abstract": true, "Attributes": {}},
	"StoryStatus": {"Token": "StoryStatus", "Base": {"nameref": "List"}, "Attributes": {}}}}`

func readTypes(t *testing.T) *ui.Model {
	t.Helper()
	d, err := ui.ReadDescribed([]byte(someTypes))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDescribed(t *testing.T) {
	d := readTypes(t)
	story := d.Types["Story"]
	if story.Attributes[0].Name != "Name" || story.Attributes[13].Name != "Due" {
		t.Error("the attributes have lost their order")
	}
	for name, want := range map[string]struct{ closure, down, total bool }{
		"Children": {down: true}, "ChildrenAndDown": {closure: true}, "UpAndDown": {}, "Open": {total: true}, "ToDo": {},
	} {
		a := story.ByName[name]
		if story.IsClosure(a) != want.closure || story.IsDown(a) != want.down || isTotal(a) != want.total {
			t.Errorf("%s: closure %t, down %t, total %t", name, story.IsClosure(a), story.IsDown(a), isTotal(a))
		}
	}
	for name, want := range map[string]bool{"Name": true, "ToDo": true, "Risk": false, "Nothing": false} {
		if got := d.Types["Workitem"].Has(name); got != want {
			t.Errorf("a query of Workitem may name %s: %t", name, got)
		}
	}
	if !d.IsA("Story", "BaseAsset") || d.IsA("Story", "List") || d.IsA("Nothing", "List") {
		t.Error("which type stands below which")
	}
	for name, want := range map[string]string{"Name": inMain, "ToDo": inPlanning, "Owners": inPeople, "Status": inMain, "Risk": inPlanning, "Due": inDates, "ChangeDate": inSystem} {
		if got := groupOf(story.ByName[name], d); got != want {
			t.Errorf("%s stands in %s", name, got)
		}
	}
}

// TestToAsk checks which relations to many a page reads, and how. It reads a relation by the
// relation back to the asset, or within the asset if there is no relation back. It does not read
// relations that may have too many assets.
func TestToAsk(t *testing.T) {
	d := readTypes(t)
	story := d.Types["Story"]
	v := assetView{asset: &asset{Oid: "Story:1", kind: story, model: d}}
	asked := map[string]bool{}
	for _, one := range v.toAsk() {
		asked[one.relation.Name] = one.within
	}
	if diff := cmp.Diff(map[string]bool{"Helpers": true, "Owners": true, "Goals": false}, asked); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	helpers := v.ask(story.ByName["Helpers"], d.Types["Member"], "")
	answer := []row{{"_oid": "Story:1", "Helpers": []any{map[string]any{"_oid": "Member:20", "Name": "Ann"}}}}
	if diff := cmp.Diff([]relatedRow{{Oid: "Member:20", Name: "Ann"}}, []relatedRow{relatedOf(helpers.rows(answer)[0])}); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// TestFolded checks that a folded group of a form opens if it has a field that needs
// attention.
func TestFolded(t *testing.T) {
	for name, c := range map[string]struct {
		field field
		open  bool
	}{
		"nothing":                      {field{}, false},
		"what was refused":             {field{Message: "x"}, true},
		"what somebody else has saved": {field{Now: "x"}, true},
		"what must be filled in":       {field{Required: true, Control: asDay}, true},
		"what is always chosen":        {field{Required: true, Control: asChoice}, false},
	} {
		if got := (fieldGroup{Fields: []*field{{}, &c.field}}).Open(); got != c.open {
			t.Errorf("%s: open is %t", name, got)
		}
	}
}

// TestChange checks which change, if any, the input of a field makes.
func TestChange(t *testing.T) {
	shown := row{
		"Text": "a\r\nb", "Ends": "a\rb", "Odd": []any{"two\nlines", " wide ", "x", "a\rb", "\n"}, "Date": "2026-02-28T15:04:05.000", "Flag": true, "Tags": []any{"x", "y"},
		"One": map[string]any{"_oid": "Member:20"}, "One.Name": "Ann", "Number": "3",
	}
	for name, c := range map[string]struct {
		control   control
		attribute string
		kind      string
		form      string
		want      string // JSON; empty: no change
	}{
		"not in the form":         {asText, "Text", "Text", "", ""},
		"lines as browsers send":  {asArea, "Text", "Text", "f.Text=a%0D%0Ab", ""},
		"another end of a line":   {asArea, "Ends", "Text", "f.Ends=a%0D%0Ab", ""},
		"another text":            {asArea, "Text", "Text", "f.Text=a%0D%0Ac", `"a\nc"`},
		"no text":                 {asArea, "Text", "Text", "f.Text=", `""`},
		"no number":               {asNumber, "Number", "Numeric", "f.Number=", `null`},
		"the same number":         {asNumber, "Number", "Numeric", "f.Number=3", ""},
		"the same instant":        {asMoment, "Date", "Date", "f.Date=2026-02-28T15:04:05", ""},
		"another instant":         {asMoment, "Date", "Date", "f.Date=2026-02-28T15:05", `"2026-02-28T15:05Z"`},
		"no instant":              {asMoment, "Date", "Date", "f.Date=", `null`},
		"ticked still":            {asCheck, "Flag", "Boolean", "had.Flag=1&f.Flag=true", ""},
		"not ticked":              {asCheck, "Flag", "Boolean", "had.Flag=1", `false`},
		"no box":                  {asCheck, "Flag", "Boolean", "", ""},
		"the same tags":           {asLines, "Tags", "Text", "f.Tags=y%0D%0A%20x%0D%0A", ""},
		"other tags":              {asLines, "Tags", "Text", "f.Tags=y%0D%0Az", `{"add":["z"],"remove":["x"]}`},
		"tags of several lines":   {asLines, "Odd", "Text", "f.Odd=two%0D%0Alines%0D%0A+wide+%0D%0Ax%0D%0Aa%0D%0Ab%0D%0A%0D%0A", ""},
		"one more of them":        {asLines, "Odd", "Text", "f.Odd=two%0D%0Alines%0D%0A+wide+%0D%0Ay%0D%0Aa%0D%0Ab", `{"add":["y"],"remove":["x"]}`},
		"one line of them":        {asLines, "Odd", "Text", "f.Odd=lines%0D%0Awide%0D%0Ax%0D%0Ab%0D%0Aa", `{"add":["lines"],"remove":["two\nlines"]}`},
		"the same by name":        {asName, "One", "Relation", "f.One=Ann", ""},
		"the name that it showed": {asName, "One", "Relation", "was.One=Anne&f.One=Anne", ""},
		"another name than shown": {asName, "One", "Relation", "was.One=Anne&f.One=Bo", `"Bo"`},
		"the same by Oid":         {asChoice, "One", "Relation", "f.One=Member:20", ""},
		"another one":             {asName, "One", "Relation", "f.One=Bo", `"Bo"`},
		"nobody":                  {asChoice, "One", "Relation", "f.One=", `null`},
		"many":                    {asMany, "Many", "Relation", "had.Many=A:1&had.Many=A:2&f.Many=A:2&f.Many=A:3&add.Many=x%3B+y", `{"add":["A:3","x","y"],"remove":["A:1"]}`},
		"many, the same":          {asMany, "Many", "Relation", "had.Many=A:1&f.Many=A:1&add.Many=+", ""},
	} {
		t.Run(name, func(t *testing.T) {
			form, err := url.ParseQuery(c.form)
			if err != nil {
				t.Fatal(err)
			}
			f := &field{Name: c.attribute, Control: c.control, attribute: &ui.Attribute{Name: c.attribute, AttributeType: c.kind, IsMultivalue: c.control == asLines || c.control == asMany}}
			got := ""
			if change, changed := f.change(form, shown); changed {
				b, err := json.Marshal(change)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestMeets checks a form when two people change the same tags. The form contains the changes of
// both people, and shows the current values.
func TestMeets(t *testing.T) {
	for name, c := range map[string]struct {
		typed, want, now string
		is               []any
	}{
		"the other adds":         {"x\r\ny\r\nmine", "x\ny\nother\nmine", "x, y, other", []any{"x", "y", "other"}},
		"the other removes":      {"x\r\ny\r\nmine", "y\nmine", "y", []any{"y"}},
		"both add the same":      {"x\r\ny\r\nmine", "x\ny\nmine", "x, y, mine", []any{"x", "y", "mine"}},
		"both remove":            {"y", "", "nothing", nil},
		"the other changed else": {"y", "y", "", []any{"x", "y"}},
	} {
		f := &field{Name: "Tags", Control: asLines, attribute: &ui.Attribute{Name: "Tags", AttributeType: "Text", IsMultivalue: true}}
		typed := url.Values{"f.Tags": {c.typed}}
		f.meets(&asset{row: row{"Tags": c.is}}, row{"Tags": []any{"x", "y"}}, typed)
		if got := typed.Get("f.Tags"); got != c.want || f.Now != c.now {
			t.Errorf("%s: %q and now %q, want %q and %q", name, got, f.Now, c.want, c.now)
		}
	}
}

// TestWordFor checks how a change is described. Oids decide whether a relation changed; the
// text has the names.
func TestWordFor(t *testing.T) {
	d := readTypes(t)
	a := &asset{kind: d.Types["Story"], model: d, words: ui.Words{}}
	to := func(oid, name string) row {
		return row{"Status": map[string]any{"_oid": oid}, "Status.Name": name}
	}
	status := &ui.Attribute{Name: "Status", DisplayName: "A'Status", AttributeType: "Relation"}
	tags := &ui.Attribute{Name: "Tags", DisplayName: "A'Tags", AttributeType: "Text", IsMultivalue: true}
	for _, c := range []struct {
		one           *ui.Attribute
		before, after row
		want          string
	}{
		{status, to("S:1", "Future"), to("S:1", "Later"), ""},
		{status, to("S:1", "Future"), to("S:2", "Done"), "Status: Future → Done"},
		{status, to("S:1", "Done"), to("S:2", "Done"), "Status: Done (S:1) → Done (S:2)"},
		{status, to("S:1", "Done"), to("NULL", ""), "Status: Done → nothing"},
		{status, to("NULL", ""), to("S:1", "Done"), "Status: Done"},
		{tags, row{"Tags": []any{"a", "b"}}, row{"Tags": []any{"b", "c"}}, "Tags +c −a"},
		{tags, row{}, row{"Tags": []any{"a", "b", "c", "d"}}, "Tags +4"},
	} {
		if got := a.wordFor(c.one, c.before, c.after); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	pieces := a.piecesFor(status, to("S:1", "Future"), to("S:2", "Done"), new(ui.Differences))
	if diff := cmp.Diff([]ui.Piece{{Text: "Future", Removed: true}, {Text: " "}, {Text: "Done", Added: true}, {Text: " "}}, pieces); diff != "" {
		t.Error(diff)
	}
}

// TestHeadingOfAProject checks that the page of a project has no link to the project itself.
func TestHeadingOfAProject(t *testing.T) {
	for oid, want := range map[string]*ref{"Scope:5": nil, "Story:7": {"Scope:5", "Shop"}} {
		a := &asset{Oid: oid}
		a.take(row{"SecurityScope": map[string]any{"_oid": "Scope:5"}, "SecurityScope.Name": "Shop"})
		if diff := cmp.Diff(want, a.Project); diff != "" {
			t.Errorf("%s: want, got:\n%s", oid, diff)
		}
	}
}

// TestValuesInALine checks that dates and Booleans are formatted for people.
func TestValuesInALine(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"Boolean", "true", "yes"},
		{"Boolean", "false", "no"},
		{"Date", "2026-01-02T03:04:05.0000000Z", "2026-01-02 03:04 UTC"},
		{"Date", "2026-01-02T03:04:05.000", "2026-01-02 03:04 UTC"},
		{"Date", "2026-01-02", "2026-01-02"},
		{"Date", "", ""},
		{"Text", "true", "true"},
	} {
		if got := shownAs(&ui.Attribute{AttributeType: c.kind}, c.text); got != c.want {
			t.Errorf("%s %q is written %q, want %q", c.kind, c.text, got, c.want)
		}
	}
}
