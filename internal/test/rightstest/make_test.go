package rightstest

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// attrs are the attributes of a command. A text that begins with $ is a placeholder:
//
//	$0, $1         an asset of the cell
//	$me            the member of the cell
//	$tag           a tag of the first asset of the cell
//	$name, $n      a new name, a new number
//	$target, etc.  an asset of the set-up, by its key in world.base
type attrs map[string]any

// makes lists the attributes that a new asset of a type needs besides a name.
var makes = map[string]attrs{
	"Story":  {"Scope": "$target", "Custom_Weight": "$n"},
	"Defect": inScope, "Epic": inScope, "Theme": inScope, "Goal": inScope, "Issue": inScope, "Request": inScope,
	"Environment": inScope, "RegressionPlan": inScope, "RegressionTest": inScope, "Retrospective": inScope, "TeamRoom": inScope,
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

// changes lists the attribute that cells change, for types where it is not Description.
var changes = map[string]attrs{
	"Note": {"Content": "$name"}, "Link": {"URL": "$name"}, "EmbeddedImage": {"ContentType": "$name"}, "Image": {"ContentType": "$name"},
	"Actual": {"Reference": "$name"}, "Capacity": {"Value": "$n"}, "Role": {"Name": "$name"}, "State": {"Code": "$name"},
	"BaseSubscription": {"Name": "$name"}, "Publication": {"Payload": "6f9619ff-8b86-d011-b42d-00c04fc964ff"},
	"Conversation": {"Participants": []any{"$me"}}, "Expression": {"Content": "$name"}, "MessageReceipt": {"IsArchived": true},
}

// custom lists the custom attributes of a type. Each is changed in a separate cell.
var custom = map[string]attrs{"Story": {"Custom_Weight": "$n", "Custom_Reviewers": []any{"$me"}}}

// before lists the operation that makes another operation possible on a new asset.
var before = map[string]string{"Undelete": "Delete", "Reactivate": "Inactivate", "Activate": "Inactivate", "EpicToStory": "StoryToEpic", "MarkAsUnread": "MarkAsRead", "MarkAsUnarchived": "MarkAsArchived"}

// timeboxIn lists the State of a timebox in which an operation may run.
var timeboxIn = map[string]string{"Activate": "State:100", "Close": "State:101", "MakeFuture": "State:101", "Reactivate": "State:102"}

// owners lists the relation to the owner of an asset, by type.
var owners = map[string]string{"Expression": "Author", "MessageReceipt": "Recipient", "BaseSubscription": "Subscriber"}

// placeless lists the types with an owner whose assets never have a project.
var placeless = []string{"Conversation", "Expression", "Image", "BaseSubscription"}

// made returns the attributes of a new asset of a type.
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

// changed returns the attribute of a type that a cell changes, and its value.
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

// types returns the types that have assets.
func types() []string {
	var all []string
	for _, t := range model.Types {
		if !t.Abstract && !t.Metadata {
			all = append(all, t.Name)
		}
	}
	return all
}

// stands reports whether a type is the first of its group. A group is all types with the same kind
// of rights, whose assets belong to projects in the same way. On most paths, only the first type of
// a group is tested.
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

// isOwn reports whether the rights to assets of a type depend on their owner.
func (t *table) isOwn(typ string) bool { return t.Kinds[t.kindOf(typ, "")].Own }

// thingOf returns an asset of a type in the project of the cells. For a new project, that is its
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

// secured returns the projects to which other assets belong through an asset.
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
