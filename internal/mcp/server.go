package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the settings of a server.
type Options struct {
	API     http.RoundTripper // sends requests to the interface
	URL     string            // URL of the instance, such as http://127.0.0.1:8080/alds
	Header  http.Header       // headers of all requests, such as Authorization; nil: those of each call
	Release string            // release number of the service
	Log     *slog.Logger
}

// Server answers agents. Create it with New.
type Server struct {
	o   Options
	mcp *sdk.Server
}

// New returns a server with all tools, resources and prompts.
func New(o Options) *Server {
	o.URL = strings.TrimSuffix(o.URL, "/")
	s := &Server{o: o}
	s.mcp = sdk.NewServer(&sdk.Implementation{Name: "alds", Title: "alds", Version: o.Release}, &sdk.ServerOptions{
		Instructions: instructions, Logger: slog.New(slog.DiscardHandler),
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }, // answers depend on the token
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}, Prompts: &sdk.PromptCapabilities{}},
	})
	for _, t := range tools() {
		s.mcp.AddTool(t.definition(), func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c := s.call(ctx, r.Extra, r.Params.Name)
			c.request = r
			got, err := t.run(c, r.Params.Arguments)
			return s.result(c, got, err)
		})
	}
	s.addResources()
	s.addPrompts()
	s.mcp.AddReceivingMiddleware(s.guard)
	return s
}

// call is one call of an agent.
type call struct {
	client
	request *sdk.CallToolRequest // nil: not a call of a tool
}

// requestKey is the key of the context of an HTTP request. The library runs calls in a context that
// does not end with the request.
type requestKey struct{}

// call returns the client for a call. tool is what the agent calls.
func (s *Server) call(ctx context.Context, extra *sdk.RequestExtra, tool string) *call {
	if request, ok := ctx.Value(requestKey{}).(context.Context); ok {
		ctx = request
	}
	header := s.o.Header.Clone()
	if header == nil {
		header = http.Header{}
		if extra != nil {
			for _, name := range []string{"Authorization", "Cookie"} {
				if v := extra.Header.Values(name); len(v) > 0 {
					header[name] = v
				}
			}
		}
	}
	header.Set("Alds-Tool", tool)
	return &call{client: client{ctx: ctx, send: s.o.API, base: s.o.URL, header: header}}
}

// result returns what a tool answers. A refusal is an answer that the agent can read.
func (s *Server) result(c *call, got *sdk.CallToolResult, err error) (*sdk.CallToolResult, error) {
	if err == nil {
		return got, nil
	}
	if r, ok := asRefusal(err); ok {
		return failed(r.message), nil
	}
	if c.ctx.Err() != nil {
		return failed("The call took too long"), nil
	}
	s.log(err)
	return failed("The service could not answer"), nil
}

// log logs the error of a call that no refusal explains.
func (s *Server) log(err error) { s.o.Log.Error("call of an agent failed", "err", err.Error()) }

func failed(message string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: clipped(message, maxCell*10)}}}
}

func answered(l *lines) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: l.String()}}}
}

// inJSON returns an answer with a value, and without text. An answer that is too large is a refusal.
func inJSON(v any) *sdk.CallToolResult {
	b := marshal(v)
	if len(b) > maxText {
		return failed("The answer is too large: ask for a smaller size, or for text")
	}
	return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: json.RawMessage(b)}
}

// errFailed is the error of a call that the service could not answer. The log has the cause.
var errFailed = errors.New("the service could not answer")

// guard is the middleware of all methods. It shows each token only the tools that the token may
// use, and turns a panic into an error: the library runs each call in a goroutine of its own.
func (s *Server) guard(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (got sdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.log(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
				got, err = nil, errFailed
			}
		}()
		if method == "subscriptions/listen" { // would hold a connection, and nothing is ever sent
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there are no subscriptions: call the tool changes"}
		}
		got, err = next(ctx, method, r)
		if list, ok := got.(*sdk.ListToolsResult); ok && err == nil {
			own, err := s.call(ctx, r.GetExtra(), "").token()
			if err != nil {
				return nil, errors.New("the token cannot be read")
			}
			kept := *list
			kept.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *sdk.Tool) bool { return !own.mayUse(t.Name) })
			return &kept, nil
		}
		return got, err
	}
}

// ServeIO answers an agent that writes one message per line, until the input or ctx ends.
func (s *Server) ServeIO(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.mcp.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: openWriter{out}})
}

// openWriter is a writer that cannot be closed.
type openWriter struct{ io.Writer }

// Close does nothing.
func (openWriter) Close() error { return nil }

// Handler returns the handler of POST requests with one message each. It keeps no state between
// requests, so every process can answer every request. It authenticates nobody: the requests that
// it sends to the interface carry the credentials of the request.
func (s *Server) Handler() http.Handler {
	answer := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.mcp }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, DisableLocalhostProtection: true, Logger: slog.New(slog.DiscardHandler),
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r.Context())))
	})
}

// marshal encodes a value that can always be encoded.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
