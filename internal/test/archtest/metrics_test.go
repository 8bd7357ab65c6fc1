package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// onNoPanel has the metrics that need no panel. The value is the reason.
var onNoPanel = map[string]string{
	"alds_history_since_timestamp_seconds": "an instant, and none where all history is kept; an answer that refuses an older one tells it",
}

// TestDashboards checks that panels and alerts name only registered metrics, and that each registered metric
// is on a panel. A metric is registered if a file metrics.go registers it.
func TestDashboards(t *testing.T) {
	known, shown := registered(t), map[string]bool{}
	for _, file := range glob(t, "dashboards/boards/*.json", "dashboards/alerts.yml") {
		for _, series := range metricWord.FindAllString(string(read(t, file)), -1) {
			name := metricOf(known, series)
			if name == "" {
				t.Errorf("%s names %s, which no %s registers", file, series, metricsFile)
			}
			shown[name] = shown[name] || strings.HasSuffix(file, ".json")
		}
	}
	for name := range known {
		if shown[name] == (onNoPanel[name] != "") {
			t.Errorf("%s: on a panel: %t; the reason why it is on none: %q", name, shown[name], onNoPanel[name])
		}
	}
}

var (
	metricName  = regexp.MustCompile(`^[a-z][a-z0-9_]*[a-z0-9]$`)
	metricMaker = regexp.MustCompile(`^(counter|gauge|histogram)s?$`)
	metricWord  = regexp.MustCompile(`\balds_[a-z0-9_]+`)
)

// registered returns the names of the metrics in the metrics files.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	sources(t, func(file string, parsed *ast.File) {
		if path.Base(file) != metricsFile {
			return
		}
		prefix := "alds_" + path.Base(path.Dir(file)) + "_"
		ast.Inspect(parsed, func(n ast.Node) bool {
			for _, x := range namesIn(n) {
				lit, ok := x.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				if name, err := strconv.Unquote(lit.Value); err == nil && metricName.MatchString(name) {
					known[prefix+strings.TrimPrefix(name, prefix)] = true
				}
			}
			return true
		})
	})
	return known
}

// namesIn returns the expressions of a node that may be the name of a metric, with or without its prefix.
// These are the value of a field Name, the first argument of NewDesc, and the first two arguments of a
// function such as counter. For these functions, the name is second if the first argument is a registerer.
func namesIn(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Name" {
			return []ast.Expr{n.Value}
		}
	case *ast.CallExpr:
		switch f := n.Fun.(type) {
		case *ast.SelectorExpr:
			if f.Sel.Name == "NewDesc" {
				return n.Args[:1]
			}
		case *ast.Ident:
			if metricMaker.MatchString(f.Name) {
				return n.Args[:2]
			}
		}
	}
	return nil
}

// metricOf returns the name of the metric that a series belongs to, or "" if no such metric is registered.
func metricOf(known map[string]bool, series string) string {
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(series, suffix); ok && known[name] {
			return name
		}
	}
	return ""
}
