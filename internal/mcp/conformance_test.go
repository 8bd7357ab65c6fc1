package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/alds-dev/alds/internal/test/testnpm"
)

// TestTransportConformance runs the scenarios of the protocol's test suite that need tools, resources and prompts
// which only a test server has. They are served by the same transport as those of alds. clienttest runs the other
// scenarios with the real service.
//
// These scenarios do not apply, because one answer ends a request and the transport keeps no state: logging, progress,
// and, of revision 2025-11-25, questions to the client (sampling, elicitation) and subscriptions to resources. alds
// offers no completion.
func TestTransportConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: the packages of the suite have 100 MB")
	}
	dir := testnpm.NPM(t, testnpm.Conformance, testnpm.Node)
	s := &Server{o: Options{API: noTokens{}, URL: "http://localhost/alds"}, mcp: fixture()}
	s.mcp.AddReceivingMiddleware(s.guard)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	content := []string{
		"tools-call-simple-text", "tools-call-image", "tools-call-audio", "tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-error",
		"resources-read-text", "resources-read-binary", "resources-templates-read",
		"prompts-get-simple", "prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image",
	}
	for revision, scenarios := range map[string][]string{
		"2025-11-25": content,
		"2026-07-28": append([]string{
			"server-stateless",
			"input-required-result-basic-elicitation", "input-required-result-basic-sampling", "input-required-result-basic-list-roots",
			"input-required-result-request-state", "input-required-result-multiple-input-requests", "input-required-result-multi-round",
			"input-required-result-missing-input-response", "input-required-result-non-tool-request", "input-required-result-result-type",
			"input-required-result-unsupported-methods", "input-required-result-tampered-state", "input-required-result-capability-check",
			"input-required-result-ignore-extra-params", "input-required-result-validate-input",
		}, content...),
	} {
		for _, name := range scenarios {
			t.Run(revision+"/"+name, func(t *testing.T) {
				testnpm.Conforms(t, dir, server.URL, revision, name)
			})
		}
	}
}

// noTokens answers each request to the interface with an empty list of tokens.
type noTokens struct{}

// RoundTrip answers a request.
func (noTokens) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"tokens":[]}`))}, nil
}

// small is the data of an image or a sound. The suite does not decode it.
var small = []byte("\x89PNG\r\n\x1a\n")

func inText(s string) sdk.Content { return &sdk.TextContent{Text: s} }

func embedded(uri, mime, s string) sdk.Content {
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri, MIMEType: mime, Text: s}}
}

// fixture returns a server with the tools, resources and prompts of the suite.
func fixture() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "fixture", Version: "1"}, &sdk.ServerOptions{
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
	})
	tool := func(name string, run sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, Description: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, run)
	}
	for name, content := range map[string][]sdk.Content{
		"test_simple_text":       {inText("This is a simple text response for testing.")},
		"test_logging_tool":      {inText("This tool logs nothing.")},
		"test_image_content":     {&sdk.ImageContent{Data: small, MIMEType: "image/png"}},
		"test_audio_content":     {&sdk.AudioContent{Data: small, MIMEType: "audio/wav"}},
		"test_embedded_resource": {embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		"test_multiple_content_types": {
			inText("Multiple content types test:"), &sdk.ImageContent{Data: small, MIMEType: "image/png"},
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		},
	} {
		tool(name, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: content}, nil
		})
	}
	tool("test_error_handling", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return failed("This tool intentionally returns an error for testing"), nil
	})
	tool("test_missing_capability", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "sampling is needed", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	})
	for name, rounds := range map[string][]sdk.InputRequestMap{
		"test_input_required_result_elicitation":     {{"user_name": elicit("What is your name?", "name")}},
		"test_streaming_elicitation":                 {{"user_name": elicit("What is your name?", "name")}},
		"test_input_required_result_sampling":        {{"capital_question": sample("What is the capital of France?")}},
		"test_input_required_result_list_roots":      {{"client_roots": roots}},
		"test_input_required_result_request_state":   {{"confirm": elicit("Please confirm", "ok")}},
		"test_input_required_result_tampered_state":  {{"confirm": elicit("Please confirm", "ok")}},
		"test_input_required_result_capabilities":    {{"question": sample("What is the capital of France?")}},
		"test_input_required_result_multiple_inputs": {{"user_name": elicit("What is your name?", "name"), "greeting": sample("Generate a greeting"), "client_roots": roots}},
		"test_input_required_result_multi_round":     {{"step1": elicit("Step 1: What is your name?", "name")}, {"step2": elicit("Step 2: What is your favorite color?", "color")}},
	} {
		tool(name, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			next, state, err := nextRound(rounds, r.Params.InputResponses, r.Params.RequestState)
			if err != nil || next != nil {
				return &sdk.CallToolResult{InputRequests: next, RequestState: state}, err
			}
			told := []string{"state-ok"}
			for _, v := range r.Params.InputResponses {
				b, err := json.Marshal(v)
				if err != nil {
					return nil, err
				}
				told = append(told, string(b))
			}
			return &sdk.CallToolResult{Content: []sdk.Content{inText(strings.Join(told, " "))}}, nil
		})
	}
	addFixtureResources(s)
	addFixturePrompts(s)
	return s
}

func elicit(message, property string) *sdk.ElicitParams {
	return &sdk.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"` + property + `":{"type":"string"}},"required":["` + property + `"]}`)}
}

// roots is a question for the folders of the client.
var roots = &sdk.ListRootsParams{} //nolint:staticcheck // deprecated, and still in the suite

func sample(question string) sdk.InputRequest {
	return &sdk.CreateMessageParams{MaxTokens: 100, Messages: []*sdk.SamplingMessage{{Role: "user", Content: inText(question)}}} //nolint:staticcheck // deprecated, and still in the suite
}

// nextRound returns the questions of the next round and the state with them. It returns nil if the client has answered all
// rounds. The state is the number of the round that the client answers, signed; without a state it is the first one.
func nextRound(rounds []sdk.InputRequestMap, answers sdk.InputResponseMap, state string) (sdk.InputRequestMap, string, error) {
	round := 0
	for state != "" && state != signed(round) {
		if round++; round == len(rounds) {
			return nil, "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the state was changed"}
		}
	}
	for key := range rounds[round] {
		if _, ok := answers[key]; !ok {
			return rounds[round], signed(round), nil
		}
	}
	if round++; round < len(rounds) {
		return rounds[round], signed(round), nil
	}
	return nil, "", nil
}

func signed(round int) string {
	m := hmac.New(sha256.New, []byte("fixture"))
	fmt.Fprint(m, round)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

func addFixtureResources(s *sdk.Server) {
	read := func(content *sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			c := *content
			if c.URI = r.Params.URI; c.Blob == nil {
				c.Text += c.URI
			}
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{&c}}, nil
		}
	}
	s.AddResource(&sdk.Resource{URI: "test://static-text", Name: "text", MIMEType: "text/plain"}, read(&sdk.ResourceContents{MIMEType: "text/plain", Text: "text of "}))
	s.AddResource(&sdk.Resource{URI: "test://static-binary", Name: "binary", MIMEType: "image/png"}, read(&sdk.ResourceContents{MIMEType: "image/png", Blob: small}))
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "text/plain"}, read(&sdk.ResourceContents{MIMEType: "text/plain", Text: "text of "}))
}

func addFixturePrompts(s *sdk.Server) {
	prompt := func(name string, arguments []string, get func(a map[string]string) []sdk.Content) {
		p := &sdk.Prompt{Name: name}
		for _, a := range arguments {
			p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: a, Required: true})
		}
		s.AddPrompt(p, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			got := &sdk.GetPromptResult{}
			for _, c := range get(r.Params.Arguments) {
				got.Messages = append(got.Messages, &sdk.PromptMessage{Role: "user", Content: c})
			}
			return got, nil
		})
	}
	prompt("test_simple_prompt", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{inText("This is a simple prompt for testing.")}
	})
	prompt("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{inText(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"]))}
	})
	prompt("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) []sdk.Content {
		return []sdk.Content{embedded(a["resourceUri"], "text/plain", "Embedded resource content for testing."), inText("Please process the embedded resource above.")}
	})
	prompt("test_prompt_with_image", nil, func(map[string]string) []sdk.Content {
		return []sdk.Content{&sdk.ImageContent{Data: small, MIMEType: "image/png"}, inText("Please analyze the image above.")}
	})
	s.AddPrompt(&sdk.Prompt{Name: "test_input_required_result_prompt"}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		rounds := []sdk.InputRequestMap{{"user_context": elicit("What context should the prompt use?", "context")}}
		next, state, err := nextRound(rounds, r.Params.InputResponses, r.Params.RequestState)
		if err != nil || next != nil {
			return &sdk.GetPromptResult{InputRequests: next, RequestState: state}, err
		}
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: inText("prompt")}}}, nil
	})
}
