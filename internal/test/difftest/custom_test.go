package difftest

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// custom returns custom attributes of every kind: numbers, dates and texts in columns and in the JSON
// column, relations and a list. Types without a common subtype share columns. Attributes that have the same
// name on several types are in one column, in several columns, or in a column that a retired attribute also
// used.
func custom() meta.Custom {
	return meta.Custom{
		Lists: []meta.CustomList{{ID: 900, Name: "Custom_OriginType", Code: 10000}},
		Attributes: []meta.CustomAttribute{
			{ID: 901, Type: "BaseAsset", Name: "Custom_Anywhere", Kind: meta.Text, Code: 1},
			{ID: 902, Type: "Workitem", Name: "Custom_Cost", Kind: meta.Numeric, Code: 1},
			{ID: 903, Type: "Workitem", Name: "Custom_Weight", Kind: meta.Numeric},
			{ID: 904, Type: "PrimaryWorkitem", Name: "Custom_Due", Kind: meta.Date, DateOnly: true, Code: 1},
			{ID: 905, Type: "Story", Name: "Custom_Met", Kind: meta.Date, Code: 8},
			{ID: 906, Type: "Story", Name: "Custom_When", Kind: meta.Date, DateOnly: true},
			{ID: 921, Type: "Story", Name: "Custom_Seen", Kind: meta.Date},
			{ID: 907, Type: "Story", Name: "Custom_Motto", Kind: meta.Text, Code: 2},
			{ID: 908, Type: "Epic", Name: "Custom_Motto", Kind: meta.Text, Code: 2},
			{ID: 909, Type: "Test", Name: "Custom_Former", Kind: meta.Text, Code: 2},
			{ID: 910, Type: "Task", Name: "Custom_Share", Kind: meta.Numeric, Code: 2},
			{ID: 911, Type: "Defect", Name: "Custom_Share", Kind: meta.Numeric, Code: 3},
			{ID: 912, Type: "Epic", Name: "Custom_Share", Kind: meta.Numeric},
			{ID: 913, Type: "Defect", Name: "Custom_Note", Kind: meta.LongText},
			{ID: 914, Type: "Story", Name: "Custom_Plain", Kind: meta.Text},
			{ID: 915, Type: "Workitem", Name: "Custom_Checked", Kind: meta.Boolean},
			{ID: 916, Type: "Scope", Name: "Custom_Budget", Kind: meta.Numeric, Code: 8},
			{ID: 917, Type: "Custom_OriginType", Name: "Custom_Letter", Kind: meta.Text, Code: 2},
			{ID: 918, Type: "Story", Name: "Custom_Origin", Kind: meta.Relation, To: "Custom_OriginType", Back: "Custom_Stories", Code: 10000},
			{ID: 919, Type: "Workitem", Name: "Custom_Reviewers", Kind: meta.Relation, To: "Member", Many: true, Back: "Custom_Reviews", Code: 10001},
			{ID: 920, Type: "Epic", Name: "Custom_Main", Kind: meta.Relation, To: "PrimaryWorkitem", Back: "Custom_MainOf", Code: 10002},
		},
	}
}

// grown returns the model with custom attributes. retired has the names of those that are retired.
func grown(retired ...string) *meta.Model {
	c := custom()
	for i := range c.Attributes {
		c.Attributes[i].Retired = slices.Contains(retired, c.Attributes[i].Name)
	}
	m, err := meta.Default().Extend(c)
	must(err)
	return m
}
