package spectest

import (
	"bufio"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// specCase is a case: one file in testdata.
type specCase struct {
	file   string // path below testdata with forward slashes, without its extension
	what   string // sentence at the beginning of the file
	spec   string
	source string
	alone  string // why no other case may run at the same time; empty: other cases may
	steps  []step
}

// step is a section of a case.
type step struct {
	kind string
	text string
	line int // line of the section's header in the file, counted from 1
}

// kinds are the sections that a case may have.
var kinds = []string{"request", "response", "body", "body contains", "body becomes", "body text", "capture", "later", "received", "deliveries", "signed"}

// loadCases reads all cases in testdata, sorted by file name.
func loadCases(t *testing.T) []specCase {
	t.Helper()
	names, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := make([]specCase, 0, len(names))
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseCase(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		c.file = strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(name), "testdata/"), ".txtar")
		cases = append(cases, c)
	}
	return cases
}

// parseCase reads a case. The sentence of the case is the text before the first section, without the lines
// "spec:", "source:" and "alone:".
func parseCase(text []byte) (specCase, error) {
	archive := txtar.Parse(text)
	var c specCase
	var sentence []string
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "spec:"); ok {
			c.spec = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(line, "source:"); ok {
			c.source = strings.TrimSpace(v)
		} else if v, ok := strings.CutPrefix(line, "alone:"); ok {
			c.alone = strings.TrimSpace(v)
		} else if line != "" {
			sentence = append(sentence, line)
		}
	}
	c.what = strings.Join(sentence, " ")
	if c.what == "" || c.spec == "" || c.source == "" {
		return c, fmt.Errorf("a case opens with a sentence, spec: and source:")
	}
	at := strings.Count(string(archive.Comment), "\n") + 1
	for _, f := range archive.Files {
		if !slices.Contains(kinds, f.Name) {
			return c, fmt.Errorf("line %d: no section is called %q", at, f.Name)
		}
		c.steps = append(c.steps, step{kind: f.Name, text: string(f.Data), line: at})
		at += strings.Count(string(f.Data), "\n") + 1
	}
	if len(c.steps) < 2 || c.steps[0].kind != "request" {
		return c, fmt.Errorf("a case asks first and then says what it expects")
	}
	return c, nil
}

// request is a parsed request section.
type request struct {
	method, path string
	header       http.Header
	body         string
}

func parseRequest(text string) (request, error) {
	head, body, _ := strings.Cut(text, "\n\n")
	first, headers, _ := strings.Cut(head, "\n")
	method, path, ok := strings.Cut(strings.TrimSpace(first), " ")
	if !ok {
		return request{}, fmt.Errorf("%q is no request line", first)
	}
	h, err := parseHeaders(headers)
	return request{method: method, path: path, header: h, body: strings.TrimSuffix(body, "\n")}, err
}

// response is a parsed response section.
type response struct {
	status int
	header http.Header
}

func parseResponse(text string) (response, error) {
	first, headers, _ := strings.Cut(strings.TrimSpace(text), "\n")
	status, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return response{}, fmt.Errorf("a response starts with its status: %w", err)
	}
	h, err := parseHeaders(headers)
	return response{status: status, header: h}, err
}

func parseHeaders(text string) (http.Header, error) {
	if strings.TrimSpace(text) == "" {
		return http.Header{}, nil
	}
	r := textproto.NewReader(bufio.NewReader(strings.NewReader(strings.TrimRight(text, "\n") + "\n\n")))
	h, err := r.ReadMIMEHeader()
	return http.Header(h), err
}
