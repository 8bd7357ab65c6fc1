package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is a tool of the door.
type tool struct {
	name, title, about string
	arguments          []argument
	run                func(c *call, arguments json.RawMessage) (*sdk.CallToolResult, error)

	reads       bool // changes nothing
	destructive bool // may change or delete what is there
	repeatable  bool // the same call again changes nothing more
}

// argument is an argument of a tool.
type argument struct {
	name     string
	kind     kind
	about    string // empty: the name says it
	required bool
}

// kind is what an argument can be.
type kind string

// The kinds of arguments.
const (
	text    kind = "string"
	number  kind = "integer"
	yesNo   kind = "boolean"
	object  kind = "object"
	list    kind = "texts"   // a list of texts
	objects kind = "objects" // a list of objects
	mixed   kind = "mixed"   // a list of texts and objects
)

// The tools that are shown only to tokens that may use them.
const (
	applies  = "apply"
	proposes = "propose"
)

// Arguments that several tools have.
var (
	size       = argument{name: "size", kind: number, about: "at most 500"}
	next       = argument{name: "next", kind: text, about: "next of the last answer"}
	structured = argument{name: "structured", kind: yesNo, about: "answer in JSON"}
)

// tools returns all tools. Each agent reads their descriptions in each conversation, so they are
// short.
func tools() []tool {
	return []tool{
		{
			name: "context", title: "Who am I, and where", reads: true, run: runContext,
			about:     "Your member, what your token may do, and the projects that you see. With project: its sprints, members, list values, and the projects below it.",
			arguments: []argument{{name: "project", kind: text, about: "Oid or name"}},
		},
		{
			name: "describe", title: "Describe the model", reads: true, run: runDescribe,
			about: "Attributes and operations of types. Look here before you guess a token.",
			arguments: []argument{
				{name: "names", kind: list, about: "Story, Story.Status, Story.Close"},
				{name: "words", kind: text, about: "part of the name of a type, attribute or operation"},
			},
		},
		{
			name: "query", title: "Query items", reads: true, run: runQuery,
			about: "Rows of items. All of where, filter and find must match. Closed items are included, unless you filter AssetState='Active'.",
			arguments: []argument{
				{name: "from", kind: text, about: "type (Story), Oid (Story:1005) or Number (S-01005)", required: true},
				{name: "select", kind: mixed, about: "tokens: Name, Status.Name, Owners.Name, Children:Task.ToDo.@Sum; or nested {from, select, filter}"},
				{name: "where", kind: object, about: "token: value; equal"},
				{name: "filter", kind: list, about: "Estimate>'3', Status.Name='Done','Accepted', Owners='', Name~='card'. A ; is and, a | is or"},
				{name: "find", kind: text, about: "text in Name, Description or Number"},
				{name: "findin", kind: list, about: "other attributes to find it in"},
				{name: "sort", kind: list, about: "-Estimate, Order"},
				{name: "with", kind: object, about: "values of $variables"},
				{name: "asof", kind: text, about: "an instant in the past"},
				size, next, structured,
			},
		},
		{
			name: "history", title: "What happened", reads: true, run: runHistory,
			about: "Give one of these. asset: what happened to it, and for a project to all in it. request: what a write changed. from and select: what a query found at since and at until (gone, new, changed).",
			arguments: []argument{
				{name: "asset", kind: text, about: "Oid or Number"},
				{name: "request", kind: text, about: "requestId"},
				{name: "from", kind: text},
				{name: "select", kind: list},
				{name: "where", kind: object},
				{name: "filter", kind: list},
				{name: "since", kind: text, about: "instant, UTC"},
				{name: "until", kind: text, about: "default: now"},
				size, next, structured,
			},
		},
		{
			name: "changes", title: "Follow changes", reads: true, run: runChanges,
			about: "Changes after a cursor, in their order. Without next there are none, only the cursor of now.",
			arguments: []argument{
				next,
				{name: "from", kind: text, about: "type"},
				{name: "filter", kind: text},
				{name: "attributes", kind: list, about: "only changes of these"},
				{name: "select", kind: list},
				{name: "wait", kind: number, about: "seconds to wait for a change, at most 30"},
				size, structured,
			},
		},
		{
			name: "plan", title: "Plan a write", reads: true, run: runPlan,
			about: "Shows exactly what commands, or an undo, would change. Changes nothing. With plan: more lines of a plan.",
			arguments: []argument{
				{name: "commands", kind: objects, about: `{"AssetType":"Story","Name":"…","Scope":"Scope:1005"} creates. {"from":Oid or type,"filter":[…],"update":{"Estimate":3,"Owners":{"add":"Member:20"}}} updates. {"from":…,"execute":"Close"} runs an operation. {"@x":{"AssetType":…}} names a new item for later commands`},
				{name: "undo", kind: object, about: `{"requestId":…}, {"asset":…,"moment":…} or {"by":Member or token,"since":…,"until":…}. "conflicts":"skip" leaves what was changed since`},
				{name: "comment", kind: text, about: "why; kept with the change"},
				{name: "plan", kind: text},
				next, structured,
			},
		},
		{
			name: applies, title: "Apply a plan", destructive: true, repeatable: true, run: runApply,
			about: "Carries out a plan if it still changes exactly what it showed. Otherwise it changes nothing and shows the differences.",
			arguments: []argument{
				{name: "plan", kind: text, required: true},
				{name: "assets", kind: number, about: "how many assets the plan said that it changes", required: true},
				structured,
			},
		},
		{
			name: proposes, title: "Propose a plan", repeatable: true, run: runPropose,
			about: "Keeps a plan as a proposal, which somebody with the right applies or declines.",
			arguments: []argument{
				{name: "plan", kind: text, required: true},
				{name: "name", kind: text, required: true},
				{name: "project", kind: text, about: "Oid", required: true},
				{name: "description", kind: text, about: "why"},
			},
		},
	}
}

// definition returns the tool as agents see it.
func (t *tool) definition() *sdk.Tool {
	properties := map[string]any{}
	var required []string
	for _, a := range t.arguments {
		properties[a.name] = a.schema()
		if a.required {
			required = append(required, a.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	closed := false
	return &sdk.Tool{
		Name: t.name, Description: t.about, InputSchema: schema,
		Annotations: &sdk.ToolAnnotations{
			Title: t.title, ReadOnlyHint: t.reads, IdempotentHint: t.reads || t.repeatable, DestructiveHint: &t.destructive, OpenWorldHint: &closed,
		},
	}
}

// schema returns the JSON schema of the argument.
func (a *argument) schema() map[string]any {
	s := map[string]any{"type": a.kind}
	switch a.kind {
	case list:
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case objects:
		s["type"], s["items"] = "array", map[string]any{"type": "object"}
	case mixed:
		s["type"], s["items"] = "array", map[string]any{"type": []string{"string", "object"}}
	}
	if a.about != "" {
		s["description"] = a.about
	}
	return s
}
