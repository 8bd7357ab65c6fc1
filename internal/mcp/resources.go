package mcp

import (
	"context"
	_ "embed"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// grammar is the grammar of tokens and filters, for agents.
//
//go:embed grammar.md
var grammar string

// instructions are what an agent reads before anything else. Clients keep them in the context of
// each conversation, and some cut them at 2,048 characters.
//
//go:embed instructions.md
var instructions string

// prompts are texts that a person starts a conversation with.
var prompts = []struct{ name, title, about, text string }{
	{
		"triage", "Triage", "Sort new defects and requests of a project",
		"Triage the project {project}. Query its open defects and requests that have no owner or no priority. For each, propose a priority, an owner and, if it says the same as another, the duplicate. " +
			"Show a table. Then make one plan with all changes, and apply it only when I agree.",
	},
	{
		"sprint-review", "Sprint review", "What a sprint achieved",
		"Review the latest closed or active sprint of {project}. Say what was planned on its first day and what came or left since (history with from, since and until), what was accepted, what is not finished and why, and the points accepted in the last six sprints. Change nothing.",
	},
	{
		"stand-up", "Stand-up", "What happened since yesterday",
		"Prepare the stand-up of {project}: what changed since yesterday morning, by person; what is blocked and by what; what nobody works on. Use history of the project. Change nothing.",
	},
	{
		"release-notes", "Release notes", "What was accepted between two dates",
		"Write release notes for {project} from {since} to {until}: each story and defect that was closed or accepted in this time, once, with its Number, in words that customers understand. Change nothing.",
	},
}

// addPrompts adds the prompts.
func (s *Server) addPrompts() {
	for _, p := range prompts {
		definition := &sdk.Prompt{Name: p.name, Title: p.title, Description: p.about}
		for _, name := range []string{"project", "since", "until"} {
			if strings.Contains(p.text, "{"+name+"}") {
				definition.Arguments = append(definition.Arguments, &sdk.PromptArgument{Name: name, Required: true})
			}
		}
		s.mcp.AddPrompt(definition, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			text := p.text
			for _, a := range definition.Arguments {
				v := oneLine(r.Params.Arguments[a.Name])
				if v == "" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the prompt " + p.name + " needs " + a.Name}
				}
				text = strings.ReplaceAll(text, "{"+a.Name+"}", clipped(v, maxCell))
			}
			return &sdk.GetPromptResult{Description: p.about, Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: text}}}}, nil
		})
	}
}

// The types of resources.
const (
	itemURI    = "alds://item/"
	modelURI   = "alds://model/"
	grammarURI = "alds://grammar"
	textPlain  = "text/plain"
)

// addResources adds the resources: an item, a type, and the grammar of filters.
func (s *Server) addResources() {
	s.mcp.AddResource(&sdk.Resource{URI: grammarURI, Name: "grammar", Title: "Grammar of tokens and filters", MIMEType: "text/markdown"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return contents(r.Params.URI, "text/markdown", grammar), nil
		})
	s.mcp.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: itemURI + "{+id}", Name: "item", Title: "An item by its Number or Oid", MIMEType: textPlain}, s.read(itemURI, readItem))
	s.mcp.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: modelURI + "{type}", Name: "model", Title: "A type with its attributes and operations", MIMEType: textPlain},
		s.read(modelURI, func(c *call, l *lines, name string) error { return c.describe(l, name) }))
}

func contents(uri, kind, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}
}

// read returns a handler of the resources below a prefix. What cannot be read does not exist for
// the agent.
func (s *Server) read(prefix string, show func(c *call, l *lines, name string) error) sdk.ResourceHandler {
	return func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := r.Params.URI
		name, err := url.PathUnescape(strings.TrimPrefix(uri, prefix))
		if err != nil || !strings.HasPrefix(uri, prefix) {
			return nil, sdk.ResourceNotFoundError(uri)
		}
		l := &lines{}
		if err := show(s.call(ctx, r.Extra, "resource"), l, name); err != nil {
			if _, ok := asRefusal(err); ok {
				return nil, sdk.ResourceNotFoundError(uri)
			}
			s.log(err)
			return nil, errFailed
		}
		return contents(uri, textPlain, l.String()), nil
	}
}

// itemColumns are the attributes of an item, by the types that have them. A query for an attribute
// that a type does not have fails, so they are tried in this order.
var itemColumns = [][]string{
	{"Number", "Name", "AssetType", "AssetState", "Status.Name", "Scope", "Scope.Name", "Owners.Name", "Priority.Name", "Estimate", "Timebox.Name", "Super", "Super.Name", "ChangeDateUTC", "Description"},
	{"Number", "Name", "AssetType", "AssetState", "Status.Name", "Scope", "Scope.Name", "Owners.Name", "ChangeDateUTC", "Description"},
	{"Number", "Name", "AssetType", "AssetState", "Scope", "Scope.Name", "ChangeDateUTC", "Description"},
	{"Name", "AssetType", "AssetState", "ChangeDateUTC", "Description"},
	{"AssetType", "AssetState"},
}

// readItem prints the attributes of an item, one per line.
func readItem(c *call, l *lines, name string) error {
	oid, err := c.resolve(name)
	if err != nil {
		return err
	}
	if !isOID(oid) {
		return refusef("%.40q is neither an Oid nor a Number", name)
	}
	for _, columns := range itemColumns {
		var found [][]row
		if found, _, err = c.find(asked{"from": oid, "select": columns}); err != nil {
			if _, ok := asRefusal(err); ok {
				continue
			}
			return err
		}
		if len(found[0]) != 1 {
			return refusef("You see no %s", oid)
		}
		l.add(marked)
		l.add(oid)
		for _, column := range columns {
			if v := found[0][0].text(column); v != "" {
				l.add(column, ": ", clipped(v, maxLong))
			}
		}
		return nil
	}
	return err
}
