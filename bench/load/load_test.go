package main

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// service imitates the parts of alds that the load needs, and can be made to fail.
type service struct {
	t        *testing.T
	scopes   int
	stories  map[string][]map[string]any // key: Oid of a Scope; value: its stories
	requests int                         // bulk requests with stories
	dropAt   int                         // this request is refused and not executed
	loseAt   int                         // this request is executed, but its answer is lost
	alterAt  int                         // the first story of this request is altered
	answered int
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if user, _, ok := r.BasicAuth(); !ok || user != "admin" {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	var body any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		s.t.Errorf("%s: %v", r.URL, err)
	}
	switch b := body.(type) {
	case []any:
		s.create(w, b)
	case map[string]any:
		if r.URL.Path == "/query.v1" {
			s.query(w, b)
			return
		}
		s.scopes++
		s.answer(w, []string{fmt.Sprintf("Scope:%d", 1000+s.scopes)})
	}
}

func (s *service) create(w http.ResponseWriter, commands []any) {
	s.requests++
	if s.requests == s.dropAt {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	oids := make([]string, 0, len(commands))
	for i, c := range commands {
		story := c.(map[string]any)
		if s.requests == s.alterAt && i == 0 {
			story["Name"] = strings.TrimSpace(story["Name"].(string)) + "?"
		}
		story["Estimate"] = strconv.FormatFloat(story["Estimate"].(float64), 'g', -1, 64)
		scope := story["Scope"].(string)
		s.stories[scope] = append(s.stories[scope], story)
		oids = append(oids, "Story:1")
	}
	if s.requests == s.loseAt {
		panic(http.ErrAbortHandler)
	}
	s.answered++
	s.answer(w, oids)
}

func (s *service) answer(w http.ResponseWriter, oids []string) {
	s.write(w, map[string]any{
		"assetsCreated":   map[string]any{"oidTokens": oids, "count": len(oids)},
		"commandFailures": map[string]any{"commands": []any{}, "count": 0},
	})
}

func (s *service) query(w http.ResponseWriter, q map[string]any) {
	rows := []map[string]any{}
	if where, ok := q["where"].(map[string]any); ok {
		rows = append(rows, s.stories[where["Scope"].(string)]...)
	}
	s.write(w, [][]map[string]any{rows})
}

func (s *service) write(w http.ResponseWriter, v any) {
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

// sample writes a backlog of 3 projects with 5 stories each, with unusual texts.
func sample(t *testing.T) string {
	t.Helper()
	texts := []string{"plain", " spaces around ", "\"quotes\", 'too'", "two\nlines\n", "<b>&amp;</b> \u2028 日本語 🚀 \x01"}
	name := filepath.Join(t.TempDir(), "sample.csv.gz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	w := csv.NewWriter(z)
	rows := [][]string{columns}
	for i := range 15 {
		project := fmt.Sprintf("project%d", i%3)
		rows = append(rows, []string{project, fmt.Sprintf("K-%d", i), texts[i%5], texts[(i+1)%5], strconv.Itoa(i)})
	}
	rows[4][3] = "" // a story without a description
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// start starts the service s, and returns a function that runs the load against it.
func start(t *testing.T, s *service) func(args ...string) (string, error) {
	t.Helper()
	s.t, s.stories = t, map[string][]map[string]any{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	fixed := []string{
		"-file", sample(t), "-url", server.URL, "-per-request", "2", "-wait", "1s",
		"-journal", filepath.Join(t.TempDir(), "journal"),
	}
	return func(args ...string) (string, error) {
		var out strings.Builder
		err := run(t.Context(), append(fixed, args...), &out)
		return out.String(), err
	}
}

func TestLoadAndVerify(t *testing.T) {
	s := &service{}
	load := start(t, s)
	out, err := load("-verify")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"9 requests answered 200 with 15 stories", "15 stories came back byte for byte", "0 requests in a wrong state"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
}

func TestFailedRequestsAreReportedAndResumed(t *testing.T) {
	s := &service{dropAt: 2, loseAt: 5}
	load := start(t, s)
	out, err := load("-verify")
	if err != nil {
		t.Fatalf("one request absent and one whole without an answer is no wrong state: %v\n%s", err, out)
	}
	for _, want := range []string{
		"7 requests answered 200", "2 requests not answered 200",
		"request 2 (project0, 2 stories): answered 200: false; absent",
		"request 5 (project1, 2 stories): answered 200: false; whole",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in\n%s", want, out)
		}
	}
	before := s.answered
	out, err = load("-resume", "-verify")
	if err != nil || !strings.Contains(out, "15 stories came back byte for byte") {
		t.Fatalf("resume: %v\n%s", err, out)
	}
	if sent := s.answered - before; sent != 1 {
		t.Errorf("resume sent %d requests, want only the one that was not carried out", sent)
	}
}

func TestVerifyTellsWhatIsWrong(t *testing.T) {
	s := &service{alterAt: 3}
	load := start(t, s)
	out, err := load("-verify")
	if err == nil || !strings.Contains(out, "ALTERED") || !strings.Contains(out, "Name ") {
		t.Errorf("an altered name must be told: %v\n%s", err, out)
	}
	for scope := range s.stories {
		s.stories[scope] = s.stories[scope][1:]
		break
	}
	out, err = load("-load=false", "-verify")
	if err == nil || !strings.Contains(out, "PART") {
		t.Errorf("a request that is partly there must be told: %v\n%s", err, out)
	}
}

func TestSplitBoundsBytes(t *testing.T) {
	long := strings.Repeat("x", 1000)
	batches := split([]story{{project: "a", title: long}, {project: "a", title: long}, {project: "b", title: long}}, 10, 1500)
	if len(batches) != 3 {
		t.Errorf("want one story per request, got %d requests", len(batches))
	}
}

func TestKibibytes(t *testing.T) {
	const status = "Name:\tapi\nVmHWM:\t  263168 kB\nVmRSS:\t     128 kB\n"
	if n, err := kibibytes(status, "VmHWM"); err != nil || n != 263168 {
		t.Errorf("the peak is %d, %v", n, err)
	}
	if _, err := kibibytes(status, "VmPeak"); err == nil {
		t.Error("a line that is not there was found")
	}
}
