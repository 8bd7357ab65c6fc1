package watchtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// hush is a text that the tests put into requests and that no span may contain.
const hush = "hush-hush"

// site is an installation, with a receiver for its webhooks.
type site struct {
	t           *testing.T
	url         string
	processes   []*testproc.Process
	traceparent chan string // header Traceparent of each delivery; empty: the delivery has no such header
}

// start starts an installation with a webhook: standalone on SQLite, or an api and a worker on MariaDB or
// MySQL.
func start(t *testing.T, dialect string, env ...string) *site {
	t.Helper()
	s := &site{t: t, traceparent: make(chan string, 16)}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { s.traceparent <- r.Header.Get("Traceparent") }))
	t.Cleanup(receiver.Close)
	addr, dir := testproc.FreeAddr(t), t.TempDir()
	s.url = "http://" + addr + "/alds"
	env = append(append(os.Environ(), "ALDS_ADDR="+addr, "ALDS_ADMIN_PASSWORD="+hush, "ALDS_DATA_DIR="+dir, "ALDS_WEBHOOK_ALLOW_PRIVATE=1"), env...)
	names := []string{"standalone"}
	if dialect == "sqlite" {
		env = append(env, "DATABASE_URL=sqlite:"+filepath.Join(dir, "alds.db"))
	} else {
		env = append(env, "DATABASE_URL="+testdb.URL(t, dialect), "REDIS_URL="+testdb.Redis(t), "ALDS_DB_CONNS=12", "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=")
		testproc.Start(t, testproc.Options{Env: env}, "api", "migrate").Wait()
		names = []string{"api", "worker"}
	}
	for _, name := range names {
		s.processes = append(s.processes, testproc.Start(t, testproc.Options{Env: env}, name))
	}
	if !testproc.Becomes(t.Context(), s.url, 0) {
		t.Fatal("it does not answer")
	}
	s.post("/api/webhook", "", `{"url": "`+receiver.URL+`/`+hush+`", "enabled": true, "maxBatch": 1, "secret": "generate", "authorizationHeader": "Bearer `+hush+`", "eventTypes": [{"type": "AssetCreated", "from": "Story", "filter": ["Name='`+hush+`'"]}]}`)
	return s
}

// post sends a request with a traceparent and returns the requestId of the answer.
func (s *site) post(path, traceparent, body string) string {
	s.t.Helper()
	status, text := s.send(http.MethodPost, path, body, "Traceparent", traceparent)
	var answer struct {
		RequestID string `json:"requestId"`
	}
	if status >= 300 || json.Unmarshal(text, &answer) != nil {
		s.t.Fatalf("%s: %d: %s", path, status, text)
	}
	return answer.RequestID
}

// send sends a request and returns the answer. headers has names and values in turn.
func (s *site) send(method, path, body string, headers ...string) (status int, text []byte) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("admin", hush)
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] != "" {
			req.Header.Add(headers[i], headers[i+1])
		}
	}
	if strings.Contains(path, "async") {
		req.Header.Set("Prefer", "respond-async")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err = io.ReadAll(res.Body); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, text
}

// delivered waits for the next delivery and returns its traceparent.
func (s *site) delivered() string {
	s.t.Helper()
	select {
	case got := <-s.traceparent:
		return got
	case <-time.After(time.Minute):
		s.t.Fatal("nothing was delivered")
		return ""
	}
}

// stop stops the processes with SIGTERM, so that they send their last spans.
func (s *site) stop() {
	s.t.Helper()
	for _, p := range s.processes {
		p.Stop()
	}
}

const story = `[{"AssetType": "Story", "Name": "` + hush + `", "Scope": "Scope:0"}, {"from": "Story", "where": {"Name": "` + hush + `"}, "update": {"Description": "` + hush + `"}}]`

// hushed sends valid and invalid requests that contain hush, in every place where a text may be.
func (s *site) hushed() {
	s.t.Helper()
	for _, r := range [][3]string{
		{http.MethodGet, "/rest-1.v1/Data/Story?sel=Name&where=Name='" + hush + "'", ""},
		{http.MethodGet, "/rest-1.v1/Data/" + hush, ""},
		{http.MethodGet, "/" + hush + "?" + hush, ""},
		{http.MethodPost, "/query.v1", `{"from": "Story", "select": ["Name", "` + hush + `"], "find": "` + hush + `"}`},
		{http.MethodPost, "/query.v1", `{"from": "Story", "select": ["Name"], "where": {"Name": "` + hush + `"}}`},
		{http.MethodPost, "/rest-1.v1/Data/Story", `<Asset><Attribute name="` + hush + `" act="set">` + hush + `</Attribute></Asset>`},
		{http.MethodPost, "/rest-1.v1/Data/Story", `<Asset><Attribute name="Name" act="set">` + hush + `</Attribute><Relation name="Scope" act="set"><Asset idref="Scope:0"/></Relation></Asset>`},
		{http.MethodPost, "/api/asset?comment=" + hush, `[{"AssetType": "` + hush + `"}, {"from": "Story:1` + hush + `", "execute": "` + hush + `"}]`},
		{http.MethodPost, "/api/asset", hush + ": [" + hush},
		{http.MethodPost, "/api/tokens", `{"name": "` + hush + `"}`},
		{"HUSH-HUSH", "/api/asset", hush},
	} {
		s.send(r[0], r[1], r[2], "Traceparent", hush, "Tracestate", "vendor="+hush, "Baggage", "user="+hush, "User-Agent", hush)
	}
	s.send(http.MethodPost, "/api/asset", story, "Traceparent", "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "Tracestate", "vendor="+hush, "Idempotency-Key", hush)
}

// TestAChangeIsTracedToItsDelivery checks that all spans of a request are in the trace of the caller. These
// are the spans of the request, of the bulk request, of the write and of its transaction. Below the write
// are the spans of the creation of deliveries and of the delivery. The receiver must get the id of the span
// of the delivery attempt. The same must hold for an asynchronous request.
func TestAChangeIsTracedToItsDelivery(t *testing.T) {
	together(t)
	for _, dialect := range []string{"sqlite", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			e := newEndpoint(t)
			s := start(t, dialect, "OTEL_EXPORTER_OTLP_ENDPOINT="+e.url, "OTEL_BSP_SCHEDULE_DELAY=100")
			const trace, caller = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
			id := s.post("/api/asset", "00-"+trace+"-"+caller+"-01", story)
			got := s.delivered()

			within := func(name string, parent span) span {
				return e.await(t, name, func(s span) bool { return s.name == name && s.trace == trace && s.parent == parent.id })
			}
			request := within("POST api/asset", span{id: caller})
			bulk := within("bulk", request)
			write := within("write", bulk)
			transaction := within("write transaction", write)
			fanOut, attempt := within("fan-out", write), within("delivery attempt", write)
			within("write transaction", fanOut)
			if want := "00-" + trace + "-" + attempt.id + "-01"; got != want {
				t.Errorf("the receiver got %q, want %q", got, want)
			}
			for _, s := range []span{request, write, fanOut, attempt} {
				if got := s.attrs["alds.write"]; got != id {
					t.Errorf("%s is of %q, the answer of %q", s.name, got, id)
				}
			}
			if request.attrs["http.response.status_code"] != "200" || bulk.attrs["alds.commands"] != "2" || transaction.attrs["alds.statements"] == "0" {
				t.Errorf("request %v, bulk %v, transaction %v", request.attrs, bulk.attrs, transaction.attrs)
			}

			later := s.post("/api/asset?async", "00-"+trace+"-"+caller+"-01", story)
			accepted := e.await(t, "the request", func(s span) bool { return s.attrs["alds.write"] == later && s.parent == caller })
			attempt = within("delivery attempt", within("write", within("bulk", within("asynchronous request", accepted))))
			if got, want := s.delivered(), "00-"+trace+"-"+attempt.id+"-01"; got != want {
				t.Errorf("the receiver of what was executed later got %q, want %q", got, want)
			}
			s.hushed()
			s.delivered()
			s.stop()
			for _, text := range e.textsWith(hush) {
				t.Errorf("what a client sent was sent on: %s", text)
			}
			for _, role := range map[string][]string{"sqlite": {"standalone"}, "mysql": {"api", "worker"}}[dialect] {
				if !e.roles[role] {
					t.Errorf("spans came from %v, none from %s", e.roles, role)
				}
			}
		})
	}
}

// TestEachOfManyWritesIsTracedToItsDelivery checks the traces of concurrent writes. A worker may create the
// deliveries of several such writes at once.
func TestEachOfManyWritesIsTracedToItsDelivery(t *testing.T) {
	together(t)
	e := newEndpoint(t)
	s := start(t, "sqlite", "OTEL_EXPORTER_OTLP_ENDPOINT="+e.url, "OTEL_BSP_SCHEDULE_DELAY=100")
	const writes = 12
	var all sync.WaitGroup
	for n := range writes {
		all.Go(func() { s.post("/api/asset", fmt.Sprintf("00-%032x-00f067aa0ba902b7-01", n+1), story) })
	}
	all.Wait()
	for range writes {
		s.delivered()
	}
	for n := range writes {
		trace := fmt.Sprintf("%032x", n+1)
		write := e.await(t, "the write", func(s span) bool { return s.name == "write" && s.trace == trace })
		for _, name := range []string{"fan-out", "delivery attempt"} {
			e.await(t, name, func(s span) bool {
				return s.name == name && s.trace == trace && s.parent == write.id && s.attrs["alds.write"] == write.attrs["alds.write"]
			})
		}
	}
}

// TestHostileTraceparentsChangeNothing checks that an invalid traceparent does not change the answer. The
// receiver must then get a traceparent that alds has created.
func TestHostileTraceparentsChangeNothing(t *testing.T) {
	together(t)
	e := newEndpoint(t)
	s := start(t, "sqlite", "OTEL_EXPORTER_OTLP_ENDPOINT="+e.url)
	const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	form := regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01$`)
	for name, headers := range map[string][]string{
		"malformed":      {"Traceparent", "00-zz"},
		"zeros":          {"Traceparent", "00-00000000000000000000000000000000-0000000000000000-01"},
		"SQL":            {"Traceparent", "00-' OR 1=1; DROP TABLE audit; --"},
		"large":          {"Traceparent", "01" + caller[2:] + "-" + strings.Repeat("a", 20_000)},
		"several":        {"Traceparent", caller, "Traceparent", caller},
		"not ASCII":      {"Traceparent", "00-\xff\xfe\xfd"},
		"bad tracestate": {"Traceparent", "00-1", "Tracestate", strings.Repeat("=,;", 5000)},
	} {
		t.Run(name, func(t *testing.T) {
			status, text := s.send(http.MethodPost, "/api/asset", story, headers...)
			if status != http.StatusOK {
				t.Errorf("%d: %s", status, text)
			}
			if got := s.delivered(); !form.MatchString(got) || strings.Contains(got, caller[3:35]) {
				t.Errorf("the receiver got %q", got)
			}
		})
	}
	t.Run("larger than all headers may be", func(t *testing.T) {
		if status, text := s.send(http.MethodPost, "/api/asset", story, "Traceparent", strings.Repeat("a", 100_000)); status < 400 || status >= 500 {
			t.Errorf("%d: %s", status, text)
		}
	})
}

// TestCallersDecideWhatIsSampled checks that nothing is traced if the traceparent of the caller says so,
// not even the deliveries. Without a traceparent the sampler decides.
func TestCallersDecideWhatIsSampled(t *testing.T) {
	together(t)
	e := newEndpoint(t)
	s := start(t, "sqlite", "OTEL_EXPORTER_OTLP_ENDPOINT="+e.url, "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0")
	for parent, traced := range map[string]bool{
		"": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00": false,
		"00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": true,
	} {
		s.post("/api/asset", parent, story)
		if got := s.delivered(); strings.Contains(got, "5bf92f3577b34da6a3ce929d0e0e4736") != traced || !traced && got != "" {
			t.Errorf("of %q the receiver got %q", parent, got)
		}
	}
	s.stop()
	for _, got := range e.all() {
		if got.trace != "5bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s was sent, of trace %s", got.name, got.trace)
		}
	}
}

// TestABadEndpointIsNotNoticed checks an endpoint that does not work. Requests and deliveries must work all
// the same, and the process must stop without an error.
func TestABadEndpointIsNotNoticed(t *testing.T) {
	together(t)
	release := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hangs.Close)
	t.Cleanup(func() { close(release) })
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil { // sends a byte from time to time, and never ends
			_, _ = w.Write([]byte{' '})
			_ = http.NewResponseController(w).Flush()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-release:
				return
			}
		}
	}))
	t.Cleanup(slow.Close)
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(busy.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, url := range map[string]string{"hangs": hangs.URL, "slow": slow.URL, "busy": busy.URL, "gone": gone.URL} {
		t.Run(name, func(t *testing.T) {
			s := start(t, "sqlite", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=8", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=4")
			requests := 50
			if testing.Short() {
				requests = 5
			}
			for range requests { // each request has more spans than the queue can hold
				s.post("/api/asset", "", story)
				s.delivered()
			}
			s.stop()
		})
	}
}

// TestAWrongVariableIsToldAtStart checks that a process with an invalid variable ends at its start. The
// message must not contain credentials.
func TestAWrongVariableIsToldAtStart(t *testing.T) {
	together(t)
	for variable, part := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":         "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_TRACES_SAMPLER=sometimes":                      "unsupported sampler",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key " + hush:         "parse headers",
		"OTEL_EXPORTER_OTLP_HEADERS=api-key=" + hush + "%zz": "escape header value",
	} {
		t.Run(variable, func(t *testing.T) {
			log := &testproc.Log{}
			env := append(os.Environ(), "ALDS_DATA_DIR="+t.TempDir(), "ALDS_ADDR="+testproc.FreeAddr(t), "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", variable)
			p := testproc.Start(t, testproc.Options{Env: env, Log: log}, "standalone")
			if status, text := p.Status(), log.String(); status == 0 || !strings.Contains(text, part) || strings.Contains(text, hush) {
				t.Errorf("exit status %d: %s", status, text)
			}
		})
	}
}

// TestNothingIsTracedWithoutAnEndpoint checks that other variables of the OpenTelemetry library do not
// start tracing.
func TestNothingIsTracedWithoutAnEndpoint(t *testing.T) {
	together(t)
	e := newEndpoint(t)
	for name, env := range map[string][]string{
		"unset":    {"OTEL_SERVICE_NAME=alds", "OTEL_TRACES_SAMPLER=always_on"},
		"disabled": {"OTEL_EXPORTER_OTLP_ENDPOINT=" + e.url, "OTEL_SDK_DISABLED=true"},
		"none":     {"OTEL_EXPORTER_OTLP_ENDPOINT=" + e.url, "OTEL_TRACES_EXPORTER=none"},
		"off":      {"OTEL_EXPORTER_OTLP_ENDPOINT=" + e.url, "OTEL_TRACES_SAMPLER=always_off"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, "sqlite", env...)
			s.post("/api/asset", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", story)
			if got := s.delivered(); got != "" {
				t.Errorf("the receiver got %q", got)
			}
			s.stop()
			if got := e.all(); len(got) > 0 {
				t.Errorf("%d spans were sent, such as %s", len(got), got[0].name)
			}
		})
	}
}
