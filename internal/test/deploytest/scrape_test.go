package deploytest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// scrapeBlock matches the Prometheus configuration in docs/deploy.md.
var scrapeBlock = regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```")

// TestMetricsToken checks that Prometheus can scrape a service with the configuration from docs/deploy.md
// and a token. Prometheus connects only to the port that clients use.
func TestMetricsToken(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "prometheus", "--version")
	testdb.Runs(t, "promtool", "--version")
	const token = "0123456789abcdef-of-monitoring-only"
	page, err := os.ReadFile(filepath.Join(root, "docs/deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := scrapeBlock.FindSubmatch(page)
	if block == nil {
		t.Fatal("docs/deploy.md has no configuration of Prometheus")
	}
	dir, addr, web, log := t.TempDir(), testproc.FreeAddr(t), testproc.FreeAddr(t), &testproc.Log{}
	testproc.Start(t, testproc.Options{Log: log, Env: append(os.Environ(), "ALDS_ADDR="+addr, "ALDS_DATA_DIR="+dir, "ALDS_METRICS_TOKEN="+token)}, "standalone")
	file, secret := filepath.Join(dir, "prometheus.yml"), filepath.Join(dir, "alds.token")
	config := strings.NewReplacer("https", "http", "alds.example.org", addr, "/etc/prometheus/alds.token", secret).Replace(string(block[1]))
	config = "global: {scrape_interval: 1s}\n" + config
	for name, text := range map[string]string{file: config, secret: token + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, dir, nil, "promtool", "check", "config", file)
	prometheus := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+web) //nolint:gosec,noctx // stopped below
	prometheus.Stderr, prometheus.SysProcAttr = log, testdb.WithParent()
	if err := prometheus.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = prometheus.Process.Kill(); _ = prometheus.Wait() })
	for until := time.Now().Add(2 * testproc.AnswersIn); !reads(web, `alds_app_build_info{job="alds",role="standalone"} == 1`); <-time.After(100 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("Prometheus reads nothing with\n%s\n%s", config, log)
		}
	}
	if strings.Contains(log.String(), token) {
		t.Error("the token is logged")
	}
}

// reads reports whether the Prometheus at web has series for an expression.
func reads(web, expression string) bool {
	res, err := http.Get("http://" + web + "/api/v1/query?query=" + url.QueryEscape(expression)) //nolint:noctx // the Prometheus of the test
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var answer struct {
		Data struct{ Result []any }
	}
	text, err := io.ReadAll(res.Body)
	return err == nil && json.Unmarshal(text, &answer) == nil && len(answer.Data.Result) > 0
}
