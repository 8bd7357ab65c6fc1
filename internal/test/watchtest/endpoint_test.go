package watchtest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	wire "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is the part of a span that the tests read.
type span struct {
	trace, id, parent, name string
	links                   []string // each is "trace id/span id"
	attrs                   map[string]string
	texts                   string // the whole span as text, for searches
}

// endpoint is a server that receives spans by OTLP over HTTP.
type endpoint struct {
	url string

	mu    sync.Mutex
	spans []span
	about []string // resources of the spans, as text
	roles map[string]bool
	came  chan struct{} // gets a signal when spans arrive
}

func newEndpoint(t *testing.T) *endpoint {
	t.Helper()
	e := &endpoint{roles: map[string]bool{}, came: make(chan struct{}, 1)}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &sent)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		e.add(&sent)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func (e *endpoint) add(sent *collector.ExportTraceServiceRequest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, of := range sent.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			if a.GetKey() == "alds.role" {
				e.roles[a.GetValue().GetStringValue()] = true
			}
		}
		e.about = append(e.about, of.GetResource().String())
		for _, in := range of.GetScopeSpans() {
			for _, s := range in.GetSpans() {
				e.spans = append(e.spans, spanOf(s))
			}
		}
	}
	select {
	case e.came <- struct{}{}:
	default:
	}
}

func spanOf(s *wire.Span) span {
	got := span{
		trace: hex.EncodeToString(s.GetTraceId()), id: hex.EncodeToString(s.GetSpanId()), parent: hex.EncodeToString(s.GetParentSpanId()),
		name: s.GetName(), attrs: map[string]string{}, texts: s.String(),
	}
	for _, l := range s.GetLinks() {
		got.links = append(got.links, hex.EncodeToString(l.GetTraceId())+"/"+hex.EncodeToString(l.GetSpanId()))
	}
	for _, a := range s.GetAttributes() {
		got.attrs[a.GetKey()] = a.GetValue().GetStringValue()
		if _, isText := a.GetValue().GetValue().(*common.AnyValue_StringValue); !isText {
			got.attrs[a.GetKey()] = strconv.FormatInt(a.GetValue().GetIntValue(), 10)
		}
	}
	return got
}

// await waits for a span for which the function is returns true, and returns that span.
func (e *endpoint) await(t *testing.T, what string, is func(span) bool) span {
	t.Helper()
	for end := time.After(time.Minute); ; {
		for _, s := range e.all() {
			if is(s) {
				return s
			}
		}
		select {
		case <-e.came:
		case <-end:
			for _, s := range e.all() {
				t.Logf("%s: parent %q, links %q, %v", s.name, s.parent, s.links, s.attrs)
			}
			t.Fatal("there is no span of " + what)
		}
	}
}

func (e *endpoint) all() []span {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]span(nil), e.spans...)
}

// textsWith returns those of the received spans and resources that contain a text, in upper or lower case.
// text itself must be in lower case.
func (e *endpoint) textsWith(text string) (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all = append(all, e.about...)
	for _, s := range e.spans {
		all = append(all, s.texts)
	}
	return slices.DeleteFunc(all, func(s string) bool { return !strings.Contains(strings.ToLower(s), text) })
}
