package archtest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// alert is a rule of dashboards/alerts.yml.
type alert struct {
	Alert, Expr string
	Labels      struct{ Severity string }
	Annotations struct {
		Summary, Description string
		Runbook              string `yaml:"runbook_url"`
	}
}

func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []alert }
	}
	if err := yaml.Unmarshal(read(t, "dashboards/alerts.yml"), &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

const runbooks = "https://github.com/alds-dev/alds/blob/main/docs/runbooks.md#"

// runbookParts are the headings that every runbook must have, in this order.
var runbookParts = []string{"Means", "Users", "Look", "Do", "Ends"}

var (
	runbookSection = regexp.MustCompile(`(?m)^### (\w+)\n((?:[^#\n].*\n|\n)*)`)
	runbookPart    = regexp.MustCompile(`(?m)^- \*\*(\w+)\*\*: \S`)
)

// TestRunbooks checks that each alert has a description and a link to its runbook, and that each runbook
// belongs to an alert.
func TestRunbooks(t *testing.T) {
	sections := map[string]bool{}
	for _, m := range runbookSection.FindAllStringSubmatch(string(read(t, "docs/runbooks.md")), -1) {
		sections[m[1]] = true
		var parts []string
		for _, p := range runbookPart.FindAllStringSubmatch(m[2], -1) {
			parts = append(parts, p[1])
		}
		if !slices.Equal(parts, runbookParts) {
			t.Errorf("the runbook of %s has %v, want %v", m[1], parts, runbookParts)
		}
	}
	for _, a := range alerts(t) {
		if a.Annotations.Runbook != runbooks+strings.ToLower(a.Alert) || !sections[a.Alert] {
			t.Errorf("%s leads to %q; has docs/runbooks.md a section of it: %v", a.Alert, a.Annotations.Runbook, sections[a.Alert])
		}
		if a.Labels.Severity != "critical" && a.Labels.Severity != "warning" || a.Annotations.Summary == "" || a.Annotations.Description == "" {
			t.Errorf("%s: severity critical or warning, a summary and a description are wanted: %+v", a.Alert, a)
		}
		delete(sections, a.Alert)
	}
	for name := range sections {
		t.Errorf("docs/runbooks.md has a section %s, which is no alert", name)
	}
}
