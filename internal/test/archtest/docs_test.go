package archtest

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/app/config"
)

// documents are the file name patterns of the documents that the tests check.
var documents = []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", "examples/*.md"}

// link is a Markdown link: its target is the second group.
var link = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

// TestLinks checks that every link to a file or heading resolves.
func TestLinks(t *testing.T) {
	for _, file := range glob(t, documents...) {
		for _, found := range link.FindAllStringSubmatch(withoutCode(string(read(t, file))), -1) {
			target, anchor, _ := strings.Cut(found[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			at := file
			if target != "" {
				at = path.Join(path.Dir(file), target)
			}
			info, err := os.Stat(filepath.Join(root, at))
			if err != nil {
				t.Errorf("%s: link to %s: %v", file, found[2], err)
				continue
			}
			if anchor != "" && !info.IsDir() && !hasHeading(string(read(t, at)), anchor) {
				t.Errorf("%s: link to %s: no such heading", file, found[2])
			}
		}
	}
}

// withoutCode removes fenced blocks, because brackets in code are not links.
func withoutCode(text string) string {
	var kept strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		} else if !code {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

// hasHeading reports whether a heading of the text has the anchor.
func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(withoutCode(text)) {
		if heading, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			words := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
			if strings.ReplaceAll(words, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

var update = flag.Bool("update", false, "rewrite the sections of docs/settings.md")

// TestSettingsTable compares the sections of docs/settings.md with config.SettingGroups.
func TestSettingsTable(t *testing.T) {
	const file = "docs/settings.md"
	got := string(read(t, file))
	var want strings.Builder
	introduction, _, _ := strings.Cut(got, "\n## ")
	want.WriteString(introduction)
	for _, g := range config.SettingGroups() {
		fmt.Fprintf(&want, "\n## %s\n\n| Setting | Default | Meaning |\n|---|---|---|\n", g.Title)
		for _, s := range g.Settings {
			def := s.Default
			if def != "" {
				def = "`" + def + "`"
			}
			fmt.Fprintf(&want, "| `%s` | %s | %s |\n", s.Name, def, s.Meaning)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join(root, file), []byte(want.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("%s differs from config.SettingGroups (-settings +document); run this test with -update:\n%s", file, diff)
	}
}

// TestSettingsInDocuments checks that every setting in a document exists.
func TestSettingsInDocuments(t *testing.T) {
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Name] = true
	}
	for _, file := range glob(t, "docs/*.md") {
		for _, name := range regexp.MustCompile(`ALDS_[A-Z_]+[A-Z]`).FindAllString(string(read(t, file)), -1) {
			if !known[name] {
				t.Errorf("%s names the setting %s, which is not there", file, name)
			}
		}
	}
}

// machinePath matches an absolute path on a developer's machine.
var machinePath = regexp.MustCompile(`(^|[\s"'(=:` + "`" + `])/(home|work|farm|Users|root)/[a-z]`)

// TestNoMachinePaths checks that no file of the repository contains a path on a developer's machine.
func TestNoMachinePaths(t *testing.T) {
	files(t, func(file string) {
		info, err := os.Stat(filepath.Join(root, file))
		if err != nil || info.Size() > 4<<20 {
			return
		}
		for n, line := range strings.Split(string(read(t, file)), "\n") {
			if machinePath.MatchString(line) && file != "internal/test/archtest/docs_test.go" {
				t.Errorf("%s:%d names a machine's path: %.120s", file, n+1, line)
			}
		}
	})
}
