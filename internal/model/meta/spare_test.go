package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A custom attribute with a number is stored in the column with this number, also on the types below
// its type. The model has exactly the columns that attributes use.
func TestSpareColumns(t *testing.T) {
	m := extended(t)
	for token, column := range map[string]string{
		"Story.Custom_Cost": "custom_number_1", "Epic.Custom_Cost": "custom_number_1", "Story.Custom_Start": "custom_date_3",
		"Defect.Custom_Start": "custom_date_3", "Story.Custom_Motto": "custom_text_1", "Custom_OriginType.Custom_Letter": "custom_text_1",
		"Defect.Custom_Cause": "custom_text_8",
	} {
		a := attrOf(t, m, token)
		if a.Place.Kind != InColumn || a.Place.Column != column || m.Columns[a.Place.Slot].Name != column {
			t.Errorf("%s lies in %+v", token, a.Place)
		}
	}
	var names []string
	own := len(Default().Columns)
	for _, c := range m.Columns[own:] {
		names = append(names, c.Name+" "+string(c.Kind))
	}
	want := []string{"custom_number_1 number", "custom_date_3 micros", "custom_text_1 text", "custom_text_2 text", "custom_text_8 text"}
	if !slices.Equal(names, want) {
		t.Errorf("the model has the columns %q", names)
	}
	if !slices.Equal(m.Columns[:own], Default().Columns) {
		t.Error("its own columns are others, or elsewhere")
	}
	all := m.AllColumns()
	slices.SortFunc(all, func(a, b Column) int { return strings.Compare(a.Name, b.Name) })
	if n := len(slices.Compact(all)); n != own+3*MaxSpare || !slices.Equal(m.AllColumns()[:len(m.Columns)], m.Columns) {
		t.Errorf("%d columns in all", n)
	}
}

// Several types below a type may have an attribute in the same column. The type above reads the
// attribute in this column if no other type below stores another attribute in it.
func TestSpareColumnsOfSome(t *testing.T) {
	attributes := []CustomAttribute{
		{ID: 1, Type: "Story", Name: "Custom_A", Kind: Text, Code: 1},
		{ID: 2, Type: "Defect", Name: "Custom_A", Kind: Text, Code: 1},
	}
	for _, c := range []struct {
		also  CustomAttribute
		alone bool
	}{
		{CustomAttribute{ID: 3, Type: "TestSet", Name: "Custom_B", Kind: Text, Code: 2}, true},
		{CustomAttribute{ID: 3, Type: "TestSet", Name: "Custom_B", Kind: Text, Code: 1}, false},
		{CustomAttribute{ID: 3, Type: "TestSet", Name: "Custom_B", Kind: Text, Code: 1, Retired: true}, false},
		{CustomAttribute{ID: 3, Type: "TestSet", Name: "Custom_A", Kind: Text, Code: 1, Retired: true}, false},
		{CustomAttribute{ID: 3, Type: "TestSet", Name: "Custom_A", Kind: Text, Code: 2}, false},
	} {
		m, err := Default().Extend(Custom{Attributes: append(slices.Clone(attributes), c.also)})
		if err != nil {
			t.Fatal(err)
		}
		p, ok := m.types["PrimaryWorkitem"].Partial("Custom_A")
		if !ok || p.Clash != "" || p.Alone() != c.alone {
			t.Errorf("with %+v: %+v", c.also, p)
		}
	}
}

// A number is free if no attribute of the type, or of a type above or below it, uses the number.
// Attributes of siblings do not count. Retired attributes count.
func TestFreeColumn(t *testing.T) {
	c := Custom{
		Lists: []CustomList{{ID: 1, Name: "Custom_List", Code: 10000}, {ID: 2, Name: "Custom_Old", Code: 10001, Retired: true}},
		Attributes: []CustomAttribute{
			{ID: 3, Type: "Story", Name: "Custom_A", Kind: Text, Code: 1},
			{ID: 4, Type: "Story", Name: "Custom_B", Kind: Text, Code: 3, Retired: true},
			{ID: 5, Type: "Workitem", Name: "Custom_C", Kind: Numeric, Code: 1},
			{ID: 6, Type: "Defect", Name: "Custom_D", Kind: Numeric, Code: 2},
			{ID: 7, Type: "Story", Name: "Custom_E", Kind: Text},
			{ID: 8, Type: "Story", Name: "Custom_F", Kind: Relation, To: "Member", Code: 10000},
			{ID: 9, Type: "Custom_Old", Name: "Custom_G", Kind: Date, Code: 1},
			{ID: 10, Type: "Nothing", Name: "Custom_H", Kind: Date, Code: 2},
			{ID: 11, Type: "Story", Name: "Custom_A", Kind: Text, Code: 4, Retired: true}, // its name is used again
		},
	}
	m, err := Default().Extend(c)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Fatalf("left out: %v, want the one of Nothing", err)
	}
	for _, x := range []struct {
		on   string
		kind Kind
		want int
	}{
		{"Story", Text, 2},
		{"PrimaryWorkitem", Text, 2},
		{"BaseAsset", Text, 2},
		{"Defect", Text, 1},
		{"Epic", Text, 1},
		{"Story", Numeric, 2},
		{"Defect", Numeric, 3},
		{"Workitem", Numeric, 3},
		{"Scope", Numeric, 1},
		{"Custom_List", Date, 1},
		{"List", Date, 2},
		{"Custom_Old", Date, 2},
		{"Story", Date, 1},
		{"Story", LongText, 0},
		{"Story", Boolean, 0},
		{"Story", Relation, 0},
		{"Nothing", Text, 0},
	} {
		if got := m.FreeColumn(c, x.on, x.kind); got != x.want {
			t.Errorf("%s on %s: %d, want %d", x.kind, x.on, got, x.want)
		}
		if got := Default().FreeColumn(c, x.on, x.kind); got != x.want {
			t.Errorf("%s on %s, by a model that does not know the lists: %d, want %d", x.kind, x.on, got, x.want)
		}
	}
}

// When all columns of a tree are in use, further attributes are stored in the JSON. A sibling
// type still has its own columns.
func TestColumnsRunOut(t *testing.T) {
	var c Custom
	for n := range MaxSpare + 2 {
		at := Default().FreeColumn(c, "Story", Date)
		want := n + 1
		if n >= MaxSpare {
			want = 0
		}
		if at != want {
			t.Errorf("attribute %d gets %d", n, at)
		}
		c.Attributes = append(c.Attributes, CustomAttribute{ID: int64(n + 1), Type: "Story", Name: fmt.Sprintf("Custom_%d", n), Kind: Date, Code: at})
	}
	if at := Default().FreeColumn(c, "Epic", Date); at != 1 {
		t.Errorf("a type beside gets %d", at)
	}
	m, err := Default().Extend(c)
	if err != nil {
		t.Fatal(err)
	}
	if last := attrOf(t, m, "Story.Custom_8"); last.Place.Kind != InAttrs || attrOf(t, m, "Story.Custom_7").Place.Column != "custom_date_8" {
		t.Errorf("%+v", last.Place)
	}
	c.Attributes[4].Retired, c.Attributes[4].Purged = true, true
	if at := Default().FreeColumn(c, "Story", Date); at != 5 {
		t.Errorf("after the values in column 5 are deleted: %d", at)
	}
	if m, err = Default().Extend(c); err != nil || slices.ContainsFunc(m.Columns, func(c Column) bool { return c.Name == "custom_date_5" }) {
		t.Errorf("the model still has column 5: %v", err)
	}
}
