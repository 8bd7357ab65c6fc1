package rightstest

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// attrs are the attributes in a command. A text that begins with $ is a placeholder:
//
//	$0, $1         an asset of the cell, by its index
//	$me            the member of the cell
//	$tag           a tag of the first asset of the cell
//	$name, $n      a new name, a new number
//	$target, etc.  an asset of the set-up, by its key in world.base
type attrs map[string]any

// makes maps a type to the attributes that a new asset of the type needs besides its name.
var makes = map[string]attrs{
	"Story":  {"Scope": "$target", "Custom_Weight": "$n"},
	"Defect": inScope, "Epic": inScope, "Theme": inScope, "Goal": inScope, "Issue": inScope, "Request": inScope,
	"Environment": inScope, "RegressionPlan": inScope, "RegressionTest": inScope, "Retrospective": inScope, "TeamRoom": inScope, "Proposal": inScope,
	"TestSet":         {"Scope": "$target", "RegressionSuite": "$suite"},
	"RegressionSuite": {"RegressionPlan": "$plan"},
	"Task":            {"Parent": "$story"},
	"Test":            {"Parent": "$story"},
	"Actual":          {"Scope": "$target", "Workitem": "$story", "Member": "$me", "Date": "2026-01-02", "Value": 1},
	"Capacity":        {"Scope": "$target", "Member": "$me", "Value": 1},
	"Scope":           {"Parent": "$target", "BeginDate": "2026-01-01"},
	"Timebox":         {"Schedule": "$schedule", "State": "State:100", "BeginDate": "2026-01-01", "EndDate": "2026-01-15"},
	"BuildProject":    {"Scopes": []any{"$target"}},
	"BuildRun":        {"BuildProject": "$build"},
	"ChangeSet":       {"PrimaryWorkitems": []any{"$story"}},
	"Expression":      {"Content": "said", "Mentions": []any{"$story"}},
	"Note":            {"Asset": "$story", "Content": "noted", "Personal": false},
	"Message":         {"Asset": "$story"},
	"MessageReceipt":  {"Message": "$message", "Recipient": "$me"},
	"Link":            {"Asset": "$story"}, "Attachment": {"Asset": "$story"}, "EmbeddedImage": {"Asset": "$story"},
	"Image":            {"ContentType": "image/png"},
	"BaseSubscription": {"Subscriber": "$me"},
	"Member":           {"Nickname": "$name", "DefaultRole": "Role:0"},
}

var inScope = attrs{"Scope": "$target"}

// changes maps a type to the attribute that cells change. Types that are missing have Description.
var changes = map[string]attrs{
	"Note": {"Content": "$name"}, "Link": {"URL": "$name"}, "EmbeddedImage": {"ContentType": "$name"}, "Image": {"ContentType": "$name"},
	"Actual": {"Reference": "$name"}, "Capacity": {"Value": "$n"}, "Role": {"Name": "$name"}, "State": {"Code": "$name"},
	"BaseSubscription": {"Name": "$name"}, "Publication": {"Payload": "6f9619ff-8b86-d011-b42d-00c04fc964ff"},
	"Conversation": {"Participants": []any{"$me"}}, "Expression": {"Content": "$name"}, "MessageReceipt": {"IsArchived": true},
}

// custom maps a type to its custom attributes. Each of them is changed in a separate cell.
var custom = map[string]attrs{"Story": {"Custom_Weight": "$n", "Custom_Reviewers": []any{"$me"}}}

// before maps an operation to the operation that must run before it on a new asset.
var before = map[string]string{"Undelete": "Delete", "Reactivate": "Inactivate", "Activate": "Inactivate", "EpicToStory": "StoryToEpic", "MarkAsUnread": "MarkAsRead", "MarkAsUnarchived": "MarkAsArchived"}

// timeboxIn maps an operation to the State in which a timebox must be, so that the operation may run.
var timeboxIn = map[string]string{"Activate": "State:100", "Close": "State:101", "MakeFuture": "State:101", "Reactivate": "State:102"}

// owners maps a type to the relation to the owner of an asset.
var owners = map[string]string{"Expression": "Author", "MessageReceipt": "Recipient", "BaseSubscription": "Subscriber"}

// placeless are the types whose assets have an owner but never belong to a project.
var placeless = []string{"Conversation", "Expression", "Image", "BaseSubscription"}

// made returns the values of a new asset of a type.
func made(typ string) attrs {
	a := maps.Clone(makes[typ])
	if a == nil {
		a = attrs{}
	}
	if name, ok := typeNamed(typ).Attr("Name"); ok && !name.ReadOnly {
		a["Name"] = "$name"
	}
	return a
}

// changed returns the attribute that cells change on assets of a type, and its new value.
func changed(typ string) (name string, v any) {
	for name, v := range changes[typ] {
		return name, v
	}
	return "Description", "$name"
}

func typeNamed(name string) *meta.Type {
	t, ok := model.Type(name)
	if !ok {
		panic("no type " + name)
	}
	return t
}

// types returns the types of which assets can exist.
func types() []string {
	var all []string
	for _, t := range model.Types {
		if !t.Abstract && !t.Metadata {
			all = append(all, t.Name)
		}
	}
	return all
}

// stands reports whether a type is the first of its group. The types of a group have the same rights, and
// their assets belong to projects in the same way. On most paths, only the first type of a group is tested.
func (t *table) stands(typ string) bool {
	likewise := func(name string) [7]any {
		m := typeNamed(name)
		base, list := typeNamed("BaseAsset"), typeNamed("List")
		return [7]any{t.kindOf(name, ""), m.Secured, t.Lie[name], t.On[name], owners[name], m.IsA(base), m.IsA(list)}
	}
	for _, name := range types() {
		if likewise(name) == likewise(typ) {
			return name == typ
		}
	}
	return false
}

// isOwn reports whether the rights on an asset of a type depend on who owns the asset.
func (t *table) isOwn(typ string) bool { return t.Kinds[t.kindOf(typ, "")].Own }

// thingOf returns an asset of a type in the project of the cells. If the type is Scope, that project is its
// parent.
func (t *table) thingOf(typ string, own *member) thing {
	x := thing{typ: typ, own: own}
	story := thing{typ: "Story", in: []*project{target}}
	switch {
	case t.On[typ] != "" || typ == "Expression":
		x.on = &story
	case t.Kinds[t.kindOf(typ, "")].System || slices.Contains(placeless, typ):
	default:
		x.in = []*project{target}
	}
	return x
}

// secured returns the projects to which another asset belongs if it refers to x.
func secured(x thing) []*project {
	t := typeNamed(x.typ)
	switch {
	case t.Secured == (meta.Secured{}):
		return nil
	case x.on != nil:
		return x.on.in
	}
	return x.in
}
