package watchtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// board is the part of a dashboard that the tests read.
type board struct {
	Title      string
	Panels     []panel
	Templating struct {
		List []struct {
			Name  string
			Query json.RawMessage
		}
	}
	Annotations struct {
		List []struct{ Name, Expr, TitleFormat string }
	}
}

type panel struct {
	Title, Type string // the function boards puts the title of the dashboard in front
	Targets     []struct{ Expr, LegendFormat string }
	FieldConfig struct {
		Defaults struct{ Thresholds struct{ Steps []step } }
	}
}

// step is the color of values that are at least Value. The first step has no Value.
type step struct {
	Color string
	Value float64
}

// boards reads the dashboards.
func boards(t *testing.T) (all []board) {
	t.Helper()
	files, err := filepath.Glob(dashboards + "boards/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no dashboards: %v", err)
	}
	for _, file := range files {
		var b board
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &b)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		b.Panels = slices.DeleteFunc(b.Panels, func(p panel) bool { return p.Type == "row" })
		for n := range b.Panels {
			b.Panels[n].Title = strings.TrimPrefix(b.Title, "alds: ") + ": " + b.Panels[n].Title
		}
		all = append(all, b)
	}
	return all
}

// panels returns the panels of all dashboards. The key is the title.
func panels(all []board) map[string]panel {
	found := map[string]panel{}
	for _, b := range all {
		for _, p := range b.Panels {
			found[p.Title] = p
		}
	}
	return found
}

// isBad reports whether the panel shows a value in red. If the panel has no colors, it reports whether the
// value is above 0.
func (p panel) isBad(value float64) bool {
	steps := p.FieldConfig.Defaults.Thresholds.Steps
	if len(steps) < 2 {
		return value > 0
	}
	colour := steps[0].Color
	for _, s := range steps[1:] {
		if value >= s.Value {
			colour = s.Color
		}
	}
	return colour == "red"
}

// chosen fills in the variables of a dashboard expression. It also divides the durations in it, as hasten
// does.
func chosen(expr, job, instances string) string {
	return hasten(strings.NewReplacer("$job", job, "$instance", instances, "$__rate_interval", "15s").Replace(expr))
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// offers returns the values that a dashboard offers for a variable. others has the chosen values of other
// variables.
func (s *server) offers(b board, variable string, others map[string]string) []string {
	s.t.Helper()
	for _, v := range b.Templating.List {
		var q struct{ Query string }
		if v.Name != variable || json.Unmarshal(v.Query, &q) != nil {
			continue
		}
		for name, value := range others {
			q.Query = strings.ReplaceAll(q.Query, "$"+name, value)
		}
		if m := labelValues.FindStringSubmatch(q.Query); m != nil {
			return s.labelValues(m[1], m[2])
		}
	}
	s.t.Fatalf("%s has no variable %s", b.Title, variable)
	return nil
}

func (s *server) labelValues(series, label string) []string {
	s.t.Helper()
	res, err := http.Get(s.url + "/api/v1/label/" + label + "/values?match[]=" + url.QueryEscape(series))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Data []string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("the values of %s of %s: %s %v", label, series, res.Status, err)
	}
	return answer.Data
}

// number returns the value of a sample.
func (s sample) number() float64 {
	text, _ := s.Value[1].(string)
	n, _ := strconv.ParseFloat(text, 64)
	return n
}
