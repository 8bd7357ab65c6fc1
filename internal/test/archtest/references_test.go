package archtest

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// reference matches text that cites sections of docs/interface.md ("interface 2.3, 4.1 and 7.2") or
	// entries of docs/decisions.md. It also matches "compat" with a number, a citation of a document that
	// is not in the repository.
	reference = regexp.MustCompile(`(?i)\b(interface|decision|compat)s?\s(\d+(?:\.\d+)*(?:(?:,| and| to)\s\d+(?:\.\d+)*)*)`)

	citation = regexp.MustCompile(`\d+(?:\.\d+)*`)
	section  = regexp.MustCompile(`(?m)^#+ (\d+(?:\.\d+)*)\.? `)
	decision = regexp.MustCompile(`(?m)^(?:\*\*)?(\d+)\. `)
	source   = regexp.MustCompile(`(?m)^source: .*$`)
)

// TestReferences checks that every cited section of the interface and every cited decision exists once.
// Citations are in comments, documents and cases.
func TestReferences(t *testing.T) {
	targets := map[string]bool{}
	collect := func(kind, file string, form *regexp.Regexp) {
		for _, m := range form.FindAllStringSubmatch(withoutCode(string(read(t, file))), -1) {
			name := kind + " " + m[1]
			if targets[name] {
				t.Errorf("%s has %s twice", file, m[1])
			}
			targets[name] = true
		}
	}
	collect("interface", "docs/interface.md", section)
	collect("decision", "docs/decisions.md", decision)
	cited := 0
	files(t, func(file string) {
		for _, text := range prose(t, file) {
			for _, m := range reference.FindAllStringSubmatch(text, -1) {
				for _, number := range citation.FindAllString(m[2], -1) {
					name := strings.ToLower(m[1]) + " " + number
					if cited++; !targets[name] {
						t.Errorf("%s cites %s, which is not there", file, name)
					}
				}
			}
		}
	})
	if cited < 300 {
		t.Errorf("only %d references are found", cited)
	}
}

// prose returns the text of a file that may have citations: the comments of a Go file, the lines "source:"
// of a specification case, or a document without its code blocks.
func prose(t *testing.T, file string) []string {
	t.Helper()
	switch filepath.Ext(file) {
	case ".md":
		return []string{withoutCode(string(read(t, file)))}
	case ".txtar", ".bad":
		return source.FindAllString(string(read(t, file)), -1)
	case ".go":
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, c := range parsed.Comments {
			texts = append(texts, strings.ReplaceAll(c.Text(), "\n", " "))
		}
		return texts
	}
	return nil
}
