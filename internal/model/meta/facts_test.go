package meta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// say returns the important properties of an attribute as one line.
func say(a *Attr) string {
	words := []string{string(a.Kind)}
	add := func(when bool, word string) {
		if when {
			words = append(words, word)
		}
	}
	if a.Related != nil {
		add(true, a.Related.Name)
	}
	for i, t := range a.Among {
		add(i == 0, "taking")
		add(true, t.Name)
	}
	add(a.Multi, "many")
	add(a.ReadOnly, "read-only")
	add(a.Required, "required")
	add(a.DateOnly, "day")
	add(a.Place.Kind == InColumn, "in "+a.Place.Column)
	add(a.Place.Kind == Calc || a.Place.Kind == Validator, a.Place.Expr)
	add(a.Declared != a.On, "by "+a.Declared.Name)
	if a.Back != nil {
		add(true, "back "+a.Back.Token())
	}
	return strings.Join(words, " ")
}

// The attributes that existing clients use; "-" marks one that must not exist.
func TestAttributes(t *testing.T) {
	m := Default()
	for token, want := range map[string]string{
		"Story.Name":                   "Text required in name by BaseAsset",
		"Story.Scope":                  "Relation Scope required in scope_id by Workitem back Scope.Workitems",
		"Story.ID":                     "Relation Story read-only by BaseAsset back Story.ID",
		"Story.SecurityScope":          "Relation Scope read-only in scope_id by BaseAsset back Scope.SecuredAssets",
		"Story.Status":                 "Relation StoryStatus in status_id by PrimaryWorkitem back StoryStatus.PrimaryWorkitems",
		"Defect.Status":                "Relation StoryStatus in status_id by PrimaryWorkitem back StoryStatus.PrimaryWorkitems",
		"TestSet.Status":               "Relation StoryStatus in status_id by PrimaryWorkitem back StoryStatus.PrimaryWorkitems",
		"Story.Number":                 "Text read-only in number by Workitem",
		"Story.Parent":                 "Relation Theme in parent_id back Theme.Children",
		"Story.Super":                  "Relation Epic in super_id back Epic.Subs",
		"Theme.Super":                  "Relation Workitem read-only in super_id by Workitem back Workitem.Subs",
		"Story.Dependencies":           "Relation Workitem many by Workitem back Workitem.Dependants",
		"Story.Dependants":             "Relation Workitem many by Workitem back Workitem.Dependencies",
		"Defect.Dependencies":          "Relation Workitem many by Workitem back Workitem.Dependants",
		"Epic.Dependants":              "Relation Workitem many by Workitem back Workitem.Dependencies",
		"Task.Dependencies":            "-",
		"Test.Dependants":              "-",
		"Theme.Dependencies":           "-",
		"TestSet.Dependencies":         "-",
		"Attachment.Asset":             "Relation BaseAsset required back BaseAsset.Attachments",
		"Expression.Attachments":       "Relation Attachment many read-only back Attachment.Asset",
		"Expression.EmbeddedImages":    "Relation EmbeddedImage many read-only back EmbeddedImage.Asset",
		"Expression.Notes":             "-",
		"Actual.Description":           "LongText in description",
		"Member.Reference":             "Text",
		"Timebox.Reference":            "Text",
		"Scope.Reference":              "Text",
		"Attachment.Reference":         "Text",
		"BuildRun.Date":                "Date",
		"Retrospective.Date":           "Date",
		"Issue.TargetDate":             "Date day",
		"Epic.PlannedStart":            "Date day",
		"BuildStatus.RollupState":      "State",
		"Story.Owners":                 "Relation Member many by Workitem back Member.OwnedWorkitems",
		"Member.OwnedWorkitems":        "Relation Workitem many back Workitem.Owners",
		"Story.IsDeletable":            "Boolean read-only Delete by BaseAsset",
		"Story.CanConvertToDefect":     "Boolean read-only ConvertToDefect",
		"Story.IsDead":                 "Boolean read-only AssetState='Dead' by BaseAsset",
		"Story.SplitToMeAndDown":       "Relation Story many read-only back Story.SplitFromMeAndUp",
		"Test.Parent":                  "Relation Workitem taking PrimaryWorkitem Epic required in parent_id back Workitem.Children",
		"Task.Parent":                  "Relation PrimaryWorkitem required in parent_id back PrimaryWorkitem.Children",
		"Task.Scope":                   "Relation Scope read-only in scope_id back Scope.Workitems",
		"Task.Timebox":                 "Relation Timebox read-only in timebox_id back Timebox.Workitems",
		"Test.GeneratedFrom":           "Relation RegressionTest back RegressionTest.GeneratedTests",
		"TestSet.RegressionSuite":      "Relation RegressionSuite required back RegressionSuite.TestSets",
		"Theme.Timebox":                "Relation Timebox read-only in timebox_id back Timebox.Workitems",
		"Epic.Swag":                    "Numeric",
		"Epic.Risk":                    "Numeric",
		"Epic.Estimate":                "-",
		"Defect.Category":              "-",
		"Defect.Risk":                  "-",
		"Defect.RequestedBy":           "-",
		"Scope.Workitems":              "Relation Workitem many read-only back Workitem.Scope",
		"Scope.ParentMeAndUp":          "Relation Scope many read-only back Scope.ChildrenMeAndDown",
		"Scope.ChildrenMeAndDown":      "Relation Scope many read-only back Scope.ParentMeAndUp",
		"Scope.Parent":                 "Relation Scope required in parent_id back Scope.Children",
		"Scope.BeginDate":              "Date required day in begin_date",
		"Scope.EndDate":                "Date day in end_date",
		"Timebox.Schedule":             "Relation Schedule required back Schedule.Timeboxes",
		"Timebox.EndDate":              "Date required day in end_date",
		"Member.DefaultRole":           "Relation Role required",
		"Member.Nickname":              "Text required",
		"Member.Password":              "Password",
		"Member.Scopes":                "Relation Scope many back Scope.Members",
		"TestCategory.RegressionTests": "Relation RegressionTest many read-only back RegressionTest.Category",
		"Note.Content":                 "LongText required",
		"Note.Asset":                   "Relation BaseAsset required back BaseAsset.Notes",
		"Actual.Date":                  "Date required day",
		"AssetType.BaseMeAndUp":        "Relation AssetType many read-only back AssetType.AssetTypesMeAndDown",
	} {
		typeName, name, _ := strings.Cut(token, ".")
		typ, ok := m.Type(typeName)
		if !ok {
			t.Errorf("no type %s", typeName)
			continue
		}
		got := "-"
		if a, ok := typ.Attr(name); ok {
			got = say(a)
		}
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", token, got, want)
		}
	}
}

// The attributes that are required to create an asset.
func TestRequired(t *testing.T) {
	m := Default()
	for name, want := range map[string]string{
		"Story": "Name Scope", "Defect": "Name Scope", "Epic": "Name Scope", "Theme": "Name Scope",
		"Task": "Name Parent", "Test": "Name Parent", "TestSet": "Name RegressionSuite Scope",
		"Scope": "BeginDate Name Parent", "Timebox": "BeginDate EndDate Name Schedule State",
		"Schedule": "Name", "Member": "DefaultRole Name Nickname", "StoryStatus": "Name",
		"Actual": "Date Member Scope Value Workitem", "Note": "Asset Content Name Personal",
		"RegressionPlan": "Name Scope", "RegressionSuite": "Name RegressionPlan", "RegressionTest": "Name Scope",
		"Conversation": "",
	} {
		typ, _ := m.Type(name)
		var got []string
		for _, a := range typ.Attrs {
			if a.Required {
				got = append(got, a.Name)
			}
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s requires %s, want %s", name, s, want)
		}
	}
}

// The effects of operations, as "validator from->to code".
func TestOperations(t *testing.T) {
	m := Default()
	for token, want := range map[string]string{
		"Story.Delete":                 "IsDeletable []->255 ",
		"Note.Delete":                  "IsDeletable []->255 ",
		"Story.Undelete":               "IsUndeletable [255]->-1 ",
		"Story.Inactivate":             "CheckInactivate [64]->128 ",
		"Story.Close":                  "CheckInactivate [64]->128 ",
		"Story.Reactivate":             "CheckReactivate [128]->64 ",
		"Story.MakeTemplate":           "CheckMakeTemplate [64]->200 ",
		"Story.Breakdown":              "CheckBreakdown [64]->208 Breakdown",
		"TaskStatus.Activate":          "CheckActivate [128]->64 ",
		"Timebox.Activate":             "CheckActivate [0]->64 ",
		"Timebox.MakeFuture":           "CheckMakeFuture [64]->0 ",
		"Member.AssignToScopeWithRole": " []->-1 AssignToScopeWithRole",
	} {
		typeName, name, _ := strings.Cut(token, ".")
		typ, _ := m.Type(typeName)
		op, ok := typ.Op(name)
		if !ok {
			t.Errorf("no operation %s", token)
			continue
		}
		if got := fmt.Sprintf("%s %v->%d %s", op.Validator, op.Effect.From, op.Effect.To, op.Effect.Code); got != want {
			t.Errorf("%s: got %q, want %q", token, got, want)
		}
	}
	timebox, _ := m.Type("Timebox")
	if op, _ := timebox.Op("Close"); op.Effect.Set["State"] != "State:102" {
		t.Errorf("Timebox.Close sets %v", op.Effect.Set)
	}
	story, _ := m.Type("Story")
	if op, _ := story.Op("Copy"); op.Effect.Result != "Story" {
		t.Errorf("Story.Copy answers with %q", op.Effect.Result)
	}
}

func TestTypes(t *testing.T) {
	m := Default()
	typ := func(name string) *Type {
		found, ok := m.Type(name)
		if !ok {
			t.Fatalf("no type %s", name)
		}
		return found
	}
	for _, name := range []string{"BaseAsset", "Workitem", "PrimaryWorkitem", "List", "AttributeDefinition"} {
		if !typ(name).Abstract {
			t.Errorf("%s is concrete", name)
		}
	}
	if got := typ("Story").DisplayNames["Scrum"] + "," + typ("ScopeLabel").DisplayNames["Scrum"] + "," + typ("StoryStatus").DisplayNames["Scrum"]; got != "Backlog Item,Program,Story Status" {
		t.Errorf("display names %s", got)
	}
	if typ("Story").RankSpace != typ("Defect").RankSpace || typ("Task").RankSpace != typ("Test").RankSpace ||
		typ("Epic").RankSpace == typ("Story").RankSpace || typ("StoryStatus").RankSpace == typ("TaskStatus").RankSpace {
		t.Error("rank spaces")
	}
	if role := typ("Role"); role.Stored(1) != -999 || role.Shown(-999) != 1 {
		t.Error("roles are stored where scopes are")
	}
	if s := typ("Scope").Secured; !s.Self || typ("Note").Secured.Via != "Asset" || typ("Task").Secured.Via != "Parent" {
		t.Error("where the scope comes from")
	}
	var names []string
	for _, a := range typ("Story").Basic {
		names = append(names, a.Name)
	}
	for _, name := range []string{"Name", "Status", "Timebox", "DetailEstimate", "AssetType", "AssetState", "Number", "ToDo", "Order", "Parent", "Description", "Estimate", "Priority", "Scope", "Owners"} {
		if !slices.Contains(names, name) {
			t.Errorf("Story.%s is not basic", name)
		}
	}
}
