package watchtest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // most of the time the tests wait
		_ = flag.Set("test.parallel", "4")
	}
	testproc.Main(m)
}

// together lets a test run in parallel with others, but only with -short. Without -short the test runs
// alone, because it starts many processes.
func together(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Parallel()
	}
}

const (
	dashboards = "../../../dashboards/"

	// timesDivided is the number by which the durations in the rules are divided.
	timesDivided = 20
)

// server is a running Prometheus. It scrapes its targets every second.
type server struct {
	t       *testing.T
	url     string
	targets string // folder with the files that name the targets
}

const configuration = `
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: other
    file_sd_configs: [{files: ["targets/*.json"]}]
`

// startPrometheus starts a Prometheus without targets, with the rules of alerts.yml.
func startPrometheus(t *testing.T) *server {
	t.Helper()
	testdb.Runs(t, "prometheus", "--version")
	dir := t.TempDir()
	s := &server{t: t, url: "http://" + testproc.FreeAddr(t), targets: filepath.Join(dir, "targets")}
	for name, text := range map[string]string{"prometheus.yml": configuration, "alerts.yml": hastened(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(s.targets, 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"), //nolint:gosec // files of the test
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+strings.TrimPrefix(s.url, "http://"), "--log.level=warn")
	cmd.Stderr, cmd.SysProcAttr = log, testdb.WithParent()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = log.Close()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the log of Prometheus:\n%.3000s", text)
		}
	})
	if !testproc.Becomes(t.Context(), s.url+"/-/ready", http.StatusOK) {
		t.Fatal("Prometheus does not become ready")
	}
	return s
}

var (
	ruleFor    = regexp.MustCompile(`(for: )(\d+)m()`)
	ruleWindow = regexp.MustCompile(`(\[)(\d+)m(\])`)
)

// hastened returns the text of alerts.yml with shorter durations.
func hastened(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(dashboards + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	return hasten(string(text))
}

// hasten divides the durations in rules and expressions by timesDivided.
func hasten(text string) string {
	for _, r := range []*regexp.Regexp{ruleFor, ruleWindow} {
		text = r.ReplaceAllStringFunc(text, func(found string) string {
			m := r.FindStringSubmatch(found)
			n, _ := strconv.Atoi(m[2])
			return m[1] + fmt.Sprint(n*60/timesDivided, "s") + m[3]
		})
	}
	return text
}

// scrape makes Prometheus scrape more targets, with the label job.
func (s *server) scrape(job string, targets ...string) {
	s.t.Helper()
	text, err := json.Marshal([]any{map[string]any{"targets": targets, "labels": map[string]string{"job": job}}})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.targets, job), text, 0o600)
	}
	if err == nil { // renamed at the end, because Prometheus may read the file while it is written
		err = os.Rename(filepath.Join(s.targets, job), filepath.Join(s.targets, job+".json"))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// sample is an element in the result of a query.
type sample struct {
	Metric map[string]string
	Value  [2]any
}

// query evaluates an expression at the current time.
func (s *server) query(expr string) ([]sample, error) {
	res, err := http.PostForm(s.url+"/api/v1/query", url.Values{"query": {expr}})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []sample }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", res.Status, answer.Error)
	}
	return answer.Data.Result, nil
}

// mustQuery is like query, for an expression that must be valid.
func (s *server) mustQuery(expr string) []sample {
	s.t.Helper()
	all, err := s.query(expr)
	if err != nil {
		s.t.Fatalf("%s: %v", expr, err)
	}
	return all
}

// await repeats a query until the result has at least the given number of samples. The test fails if that
// takes longer than within.
func (s *server) await(expr string, samples int, within time.Duration) {
	s.t.Helper()
	for until := time.Now().Add(within); len(s.mustQuery(expr)) < samples; <-time.After(200 * time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("after %s: %s has %d samples, want %d", within, expr, len(s.mustQuery(expr)), samples)
		}
	}
}

// fired returns the names of the alerts of a job that have fired so far. Each name appears once.
func (s *server) fired(job string) (names []string) {
	s.t.Helper()
	for _, a := range s.mustQuery(`group by (alertname) (max_over_time(ALERTS{alertstate="firing", job="` + job + `"}[15m]))`) {
		names = append(names, a.Metric["alertname"])
	}
	return names
}
