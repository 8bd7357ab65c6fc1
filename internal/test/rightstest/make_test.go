package rightstest

import (
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// attrs are the attributes of a command. A text that begins with $ stands for
// something: $target and the like for an asset, $0, $1 for the assets that the cell
// is about, $me for the member itself, $name for a name nobody else has, $n for a
// number nobody else has.
type attrs map[string]any

// makes is what an asset of a type needs beside a name.
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

// changes are the attribute that is changed of a type, where it is not Description.
var changes = map[string]attrs{
	"Note": {"Content": "$name"}, "Link": {"URL": "$name"}, "EmbeddedImage": {"ContentType": "$name"}, "Image": {"ContentType": "$name"},
	"Actual": {"Reference": "$name"}, "Capacity": {"Value": "$n"}, "Role": {"Name": "$name"}, "State": {"Code": "$name"},
	"BaseSubscription": {"Name": "$name"}, "Publication": {"Payload": "6f9619ff-8b86-d011-b42d-00c04fc964ff"},
	"Conversation": {"Participants": []any{"$me"}}, "Expression": {"Content": "$name"}, "MessageReceipt": {"IsArchived": true},
}

// custom are the custom attributes of a type, each of which is changed by itself.
var custom = map[string]attrs{"Story": {"Custom_Weight": "$n", "Custom_Reviewers": []any{"$me"}}}

// before are the operations that bring a new asset to where another one may run.
var before = map[string]string{"Undelete": "Delete", "Reactivate": "Inactivate", "Activate": "Inactivate", "EpicToStory": "StoryToEpic", "MarkAsUnread": "MarkAsRead", "MarkAsUnarchived": "MarkAsArchived"}

// timeboxIn is the State of a timebox in which an operation may run.
var timeboxIn = map[string]string{"Activate": "State:100", "Close": "State:101", "MakeFuture": "State:101", "Reactivate": "State:102"}

// owners are the relations that say whose own an asset is.
var owners = map[string]string{"Expression": "Author", "MessageReceipt": "Recipient", "BaseSubscription": "Subscriber"}

// placeless are the types of own assets that never have a project.
var placeless = []string{"Conversation", "Expression", "Image", "BaseSubscription"}

// made are the attributes of a new asset of a type.
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

// changed is the attribute of a type that a cell changes, and its value.
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

// types are the types that have assets.
func types() []string {
	var all []string
	for _, t := range model.Types {
		if !t.Abstract && !t.Metadata {
			all = append(all, t.Name)
		}
	}
	return all
}

// stands reports whether a type is the first of its kind whose assets lie in projects
// as its own do.
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

// isOwn reports whether assets of a type are somebody's own.
func (t *table) isOwn(typ string) bool { return t.Kinds[t.kindOf(typ, "")].Own }

// thingOf is an asset of a type that lies where cells are about; for a new project
// that is its parent.
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

// secured is where what hangs on an asset lies.
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
