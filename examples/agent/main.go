// Command agent triages the open defects of alds by rules, through the tools for agents. It has no
// language model. Each defect without a priority gets one: High if its text mentions a loss, else
// Medium. The plan is printed before it is applied.
//
//	ALDS_URL=http://127.0.0.1:8080/alds ALDS_TOKEN=… go run ./examples/agent
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type object = map[string]any

func main() {
	if err := triage(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// withToken sends requests with an access token.
type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

func triage(ctx context.Context) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "triage by rules", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: cmp.Or(os.Getenv("ALDS_URL"), "http://127.0.0.1:8080/alds") + "/mcp", DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: withToken(os.Getenv("ALDS_TOKEN"))},
	}, nil)
	if err != nil {
		return err
	}
	defer session.Close()

	var defects struct {
		Rows []struct {
			OID         string `json:"_oid"`
			Name        string
			Description *string
		}
	}
	err = call(ctx, session, "query", object{
		"from": "Defect", "select": []string{"Name", "Description"}, "filter": []string{"AssetState='Active'", "Priority=''"}, "size": 500, "structured": true,
	}, &defects)
	if err != nil || len(defects.Rows) == 0 {
		return err
	}
	var commands []object
	for _, d := range defects.Rows {
		priority := "Medium"
		if d.Description != nil && strings.Contains(strings.ToLower(d.Name+*d.Description), "los") {
			priority = "High"
		}
		commands = append(commands, object{"from": d.OID, "update": object{"Priority": priority}})
	}
	var plan struct {
		Plan, Summary string
		Assets        int
		Effect        []object
	}
	if err := call(ctx, session, "plan", object{"commands": commands, "comment": "triage by rules", "structured": true}, &plan); err != nil {
		return err
	}
	fmt.Println(plan.Summary)
	for _, change := range plan.Effect {
		fmt.Println(" ", change["asset"], change["attribute"], change["old"], "->", change["new"])
	}
	return call(ctx, session, "apply", object{"plan": plan.Plan, "assets": plan.Assets, "structured": true}, &object{})
}

// call calls a tool and decodes its structured answer.
func call(ctx context.Context, s *mcp.ClientSession, tool string, arguments object, into any) error {
	got, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return err
	}
	if got.IsError {
		return fmt.Errorf("%s: %s", tool, got.Content[0].(*mcp.TextContent).Text)
	}
	b, err := json.Marshal(got.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
