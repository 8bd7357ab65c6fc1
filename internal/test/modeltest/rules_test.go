package modeltest

import (
	"slices"
	"strings"
)

// tables has the attributes that the test uses, by type, in the order in which the model declares them. A
// sign after the name says the kind:
//
//	Name     text        Estimate#  number     BeginDate@  date
//	Personal?  truth     TimeboxGap~  duration   TaggedWith*  several texts
//	Super>Epic     to-one     Owners>>Member   to-many
//	Subs<Super     the reverse of a to-one relation
//	Dependants<<Dependencies    the reverse of a to-many relation
//
// A leading - means read-only, and a trailing ! means required. In >Epic/Workitem, Epic is the type at the
// other end, and messages name Workitem. Without a slash, messages name the type at the other end.
var tables = map[string]string{
	"Scope":    `Name! Parent>Scope! BeginDate@! EndDate@ Schedule>Schedule Owner>Member Reference Members>>Member Workitems<Scope=Workitem Children<Parent=Scope`,
	"Theme":    `Name! -Number Scope>Scope! Parent>Theme/Workitem Owners>>Member Reference Estimate# Children<Parent=Workitem`,
	"Epic":     `Name! Description -Number Scope>Scope! Parent>Theme/Workitem Owners>>Member Reference Super>Epic/Workitem Swag# Dependencies>>Dependent/Workitem Dependants<<Dependencies=Dependent/Workitem Subs<Super=Workitem Notes<Asset=Note`,
	"Story":    `Name! Description TaggedWith* -Number Scope>Scope! Parent>Theme/Workitem Timebox>Timebox Owners>>Member Reference ToDo# Estimate# Status>StoryStatus Super>Epic/Workitem Customer>Member Dependencies>>Dependent/Workitem Dependants<<Dependencies=Dependent/Workitem Children<Parent=Workitem Notes<Asset=Note`,
	"Task":     `Name! TaggedWith* -Number -Scope>Scope Parent>PrimaryWorkitem/Workitem! -Timebox>Timebox Owners>>Member Reference ToDo# Estimate# Status>TaskStatus`,
	"Member":   `Name! Nickname! DefaultRole>Role! Username Email UsesLicense? OwnedWorkitems<<Owners=Workitem Scopes<<Members=Scope`,
	"Note":     `Asset>BaseAsset! Name! Content! Personal?! -PersonalTo>Member -Author>Member`,
	"Schedule": `Name! TimeboxLength~ TimeboxGap~ Timeboxes<Schedule=Timebox ScheduledScopes<Schedule=Scope`,
	"Timebox":  `Name! Schedule>Schedule! BeginDate@! EndDate@! State>State! Workitems<Timebox=Workitem`,
}

// above has the abstract types of each type in tables. Dependent is not a type of the interface. It stands
// for all types whose assets can depend on each other.
var above = map[string][]string{
	"Scope": {"BaseAsset"}, "Theme": {"Workitem", "BaseAsset"}, "Epic": {"Workitem", "BaseAsset", "Dependent"},
	"Story": {"PrimaryWorkitem", "Workitem", "BaseAsset", "Dependent"}, "Task": {"Workitem", "BaseAsset"},
	"Member": {"BaseAsset"}, "Schedule": {"BaseAsset"}, "Timebox": {"BaseAsset"},
}

func isA(typ, other string) bool { return typ == other || slices.Contains(above[typ], other) }

// attr is one attribute of the tables.
type attr struct {
	name     string
	kind     string // text, or the sign in tables: # @ ? ~ * > >> < <<
	to       string // type at the other end
	says     string // type that messages name
	back     string // for < and <<: the attribute at the other end
	required bool
	readOnly bool
	custom   bool // true: a custom attribute, which only some sequences have
}

// attrs has the attributes of tables, parsed, by type.
var attrs = readTables()

func readTables() map[string][]attr {
	all := map[string][]attr{}
	for typ, line := range tables {
		for _, word := range strings.Fields(line) {
			all[typ] = append(all[typ], readAttr(word))
		}
	}
	return withCustom(all)
}

func readAttr(word string) attr {
	a := attr{kind: "text"}
	word, a.required = strings.CutSuffix(word, "!")
	word, a.readOnly = strings.CutPrefix(word, "-")
	for _, kind := range []string{"#", "@", "?", "~", "*", ">>", ">", "<<", "<"} {
		name, rest, ok := strings.Cut(word, kind)
		if !ok {
			continue
		}
		a.kind, a.name, a.to = kind, name, rest
		a.to, a.says, _ = strings.Cut(a.to, "/")
		if strings.HasPrefix(kind, "<") {
			a.back, a.to, _ = strings.Cut(a.to, "=")
		}
		if a.says == "" {
			a.says = a.to
		}
		return a
	}
	a.name = word
	return a
}

func attrOf(typ, name string) (attr, bool) {
	for _, a := range attrs[typ] {
		if a.name == name {
			return a, true
		}
	}
	return attr{}, false
}

// trees are the relations to the asset above. They must not form a cycle.
var trees = map[string]bool{"Parent": true, "Super": true}

// rankSpace maps a type to the group of types that have a common order of ranks. Types without ranks are
// missing.
var rankSpace = map[string]string{"Epic": "Epic", "Theme": "Theme", "Story": "PrimaryWorkitem", "Task": "Task"}

// operation is the rule for an operation, as the documents describe it.
type operation struct {
	from []int // states in which it may run; empty: all states except deleted
	to   int   // state after it; -1: the state does not change
	set  string
}

var common = map[string]operation{"Delete": {nil, 255, ""}, "Undelete": {[]int{255}, 64, ""}}

var closing = map[string]operation{"Inactivate": {[]int{64}, 128, ""}, "Reactivate": {[]int{128}, 64, ""}}

var working = map[string]operation{"Close": {[]int{64}, 128, ""}}

var quick = map[string]operation{"QuickClose": {[]int{64}, 128, ""}, "QuickSignup": {[]int{0, 64}, -1, ""}}

// operations has the operations of each type.
var operations = map[string]map[string]operation{
	"Scope":  merge(common, closing, map[string]operation{"AssignMemberWithRole": {nil, -1, ""}}),
	"Theme":  merge(common, closing, working),
	"Epic":   merge(common, closing, working),
	"Story":  merge(common, closing, working, quick, map[string]operation{"MakeTemplate": {[]int{64}, 200, ""}}),
	"Task":   merge(common, closing, working, quick),
	"Member": merge(common, closing, map[string]operation{"AssignToScopeWithRole": {nil, -1, ""}}),
	"Note":   {"Delete": common["Delete"]}, "Schedule": merge(common, closing),
	"Timebox": merge(common, map[string]operation{
		"Activate": {[]int{0}, 64, "State:101"}, "Close": {[]int{64}, 128, "State:102"},
		"MakeFuture": {[]int{64}, 0, "State:100"}, "Reactivate": {[]int{128}, 64, "State:101"},
	}),
}

func merge(all ...map[string]operation) map[string]operation {
	m := map[string]operation{}
	for _, some := range all {
		for name, op := range some {
			m[name] = op
		}
	}
	return m
}

// stateOf maps the State of a timebox to its AssetState.
var stateOf = map[string]int{"State:100": 0, "State:101": 64, "State:102": 128}
