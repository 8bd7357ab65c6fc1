package document

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/tools/txtar"

	"github.com/alds-dev/alds/internal/base/fault"
)

var update = flag.Bool("update", false, "rewrite the trees and errors in testdata")

// show returns a tree as text that contains every part of the tree.
func show(n Node) string {
	switch n.Kind {
	case List, Map:
		parts := make([]string, len(n.Items))
		for i, item := range n.Items {
			parts[i] = show(item)
			if n.Kind == Map {
				parts[i] = fmt.Sprintf("%q: ", n.Keys[i]) + parts[i]
			}
		}
		text := strings.Join(parts, ", ")
		if n.Kind == List {
			return fmt.Sprintf("[%s]@%d", text, n.At)
		}
		return fmt.Sprintf("{%s}@%d", text, n.At)
	case String:
		return fmt.Sprintf("%q@%d", n.Text, n.At)
	case Null:
		return fmt.Sprintf("null@%d", n.At)
	}
	return fmt.Sprintf("%s@%d", n.Text, n.At)
}

// TestParse runs the cases testdata/*.txtar. A case has the file body.json or body.yaml, and the file
// tree (one document per line) or error with the expected result.
func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ar := txtar.Parse(data)
			if len(ar.Files) != 2 {
				t.Fatal("want a body and a tree or an error")
			}
			docs, err := Parse(ar.Files[0].Data, strings.HasSuffix(ar.Files[0].Name, ".yaml"))
			stage, got := "tree", ""
			for _, d := range docs {
				got += show(d) + "\n"
			}
			if err != nil {
				stage, got = "error", fmt.Sprintf("%d %s\n", fault.Place(err), fault.Public(err))
			}
			if *update {
				ar.Files[1] = txtar.File{Name: stage, Data: []byte(got)}
				if err := os.WriteFile(file, txtar.Format(ar), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(ar.Files[1].Data); stage != ar.Files[1].Name || got != want {
				t.Errorf("%s\n-- %s --\n%s-- want %s --\n%s", ar.Comment, stage, got, ar.Files[1].Name, want)
			}
		})
	}
}

func TestHostileBodiesAreRefusedCheaply(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		p := string(c - 1)
		bomb += fmt.Sprintf("%c: &%c [*%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s, *%s]\n", c, c, p, p, p, p, p, p, p, p, p)
	}
	for name, c := range map[string]struct {
		body string
		yaml bool
		want string
	}{
		"10,000 lists within each other":        {strings.Repeat("[", 10_000), false, "nested deeper than 100"},
		"10,000 maps within each other":         {strings.Repeat(`{"a":`, 10_000), false, "nested deeper than 100"},
		"10,000 YAML lists within each other":   {strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), true, "nested deeper than 100"},
		"20,000 YAML lists within each other":   {strings.Repeat("[", 20_000), true, "nested deeper than 100"},
		"more values than a body may have":      {"[" + strings.Repeat("1,", MaxNodes) + "1]", false, "more than 2000000 values"},
		"an alias bomb":                         {bomb, true, "aliases of the body stand for more than 100000"},
		"aliases of a long text":                {"a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 9) + "]", true, "aliases of the body stand for more than 8388608 bytes"},
		"an alias within its own anchor":        {"a: &a [*a]", true, "nested deeper than 100"},
		"a merge that contains itself":          {"a: &a {<<: *a}", true, "nested deeper than 100"},
		"an alias that nothing anchors":         {"a: *b", true, "unknown anchor"},
		"bad UTF-8 in a string":                 {"{\"a\": \"\xff\"}", false, "not valid UTF-8 at byte 7"},
		"bad UTF-8 in YAML":                     {"a: \xc0\xaf", true, "not valid UTF-8 at byte 3"},
		"a lone surrogate":                      {`{"a": "\ud800"}`, false, "Invalid JSON at byte"},
		"UTF-16":                                {"\xff\xfe{\x00}\x00", false, "not valid UTF-8"},
		"an empty body":                         {"", false, "The body is empty."},
		"only spaces":                           {" \n\t", true, "The body is empty."},
		"only document marks":                   {"---\n---\n", true, "The body is empty."},
		"only a comment":                        {"# nothing\n", true, "The body is empty."},
		"two JSON values":                       {`{} {}`, false, "more than one value"},
		"a repeated key":                        {`{"a":1,"a":2}`, false, "duplicate"},
		"a repeated key with another spelling":  {`{"a":1,"\u0061":2}`, false, "duplicate"},
		"a repeated YAML key":                   {"a: 1\na: 2\n", true, `the key "a" comes twice`},
		"a text that ends too early":            {`{"a": [1, 2`, false, "ends too early"},
		"a YAML body above its limit":           {"a: " + strings.Repeat("x", MaxYAML), true, "send JSON"},
		"a YAML body of nothing but items":      {"[" + strings.Repeat("1,", maxIndicators) + "]", true, "send JSON"},
		"a YAML body of many directives":        {strings.Repeat("%TAG !a! x\n", maxDirectives+2) + "--- 1\n", true, "directives"},
		"directives behind other breaks":        {strings.Repeat("%TAG !a! x\u2028", maxDirectives+2) + "--- 1\n", true, "directives"},
		"a control character in a YAML scalar":  {"a: \x01", true, "control characters"},
		"a map as a YAML key":                   {"? {a: 1}\n: 2\n", true, "a key must be text"},
		"a list as a YAML key through an alias": {"a: &x [1]\n*x : 2\n", true, "a key must be text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.body), c.yaml)
			if fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.Public(err), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if at := fault.Place(err); at < 0 || at > len(c.body) {
				t.Errorf("offset %d of %d", at, len(c.body))
			}
		})
	}
}

func TestLargeMapsAreCheckedForRepeats(t *testing.T) {
	var b strings.Builder
	for i := range 200 {
		fmt.Fprintf(&b, "k%d: %d\n", i, i)
	}
	docs, err := Parse([]byte(b.String()), true)
	if err != nil || len(docs[0].Keys) != 200 {
		t.Fatalf("%d keys, %v", len(docs[0].Keys), err)
	}
	if _, err := Parse([]byte(b.String()+"k7: 1\n"), true); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a repeat after 200 keys: %v", err)
	}
}

func TestGetIsExact(t *testing.T) {
	docs, err := Parse([]byte(`{"from": "Story", "From": 1}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := docs[0].Get("From"); !ok || n.Text != "1" {
		t.Errorf("From = %v, %v", n, ok)
	}
	if _, ok := docs[0].Get("FROM"); ok {
		t.Error("FROM was found")
	}
}

func TestSniff(t *testing.T) {
	for body, yaml := range map[string]bool{
		` {"a": 1}`:            false,
		"\n[1]":                false,
		"\xef\xbb\xbf{}":       false,
		"from: Story\n":        true,
		"---\n{a: 1}\n":        true,
		"AssetType: Story\n":   true,
		"":                     true,
		"# {\n- from: Story\n": true,
	} {
		if got := Sniff([]byte(body)); got != yaml {
			t.Errorf("Sniff(%q) = %v", body, got)
		}
	}
}

// check fails the test if an offset in a tree is outside the body, if a string is not found at its
// offset, or if a map is not well formed.
func check(t *testing.T, n Node, body []byte) {
	t.Helper()
	if n.At < 0 || n.At > len(body) {
		t.Fatalf("offset %d of %d", n.At, len(body))
	}
	last := 0
	for k := range min(len(n.Text), 300) {
		off := n.Written.Offset(k)
		if off < last || n.At+off >= len(body) {
			t.Fatalf("byte %d of %q at %d: offset %d after %d of %d", k, n.Text, n.At, off, last, len(body))
		}
		last = off
		if n.Written != nil && n.Written.raw == "" || n.Kind != String || n.Text[k] >= utf8.RuneSelf {
			continue
		}
		if c := body[n.At+off]; c != n.Text[k] && c != '\\' {
			t.Fatalf("byte %d of %q at %d: offset %d holds %q", k, n.Text, n.At, off, c)
		}
	}
	if n.Kind == Map && len(n.Keys) != len(n.Items) || n.Kind != Map && len(n.Keys) > 0 || n.IsScalar() && len(n.Items) > 0 {
		t.Fatalf("malformed node %+v", n)
	}
	for _, item := range n.Items {
		check(t, item, body)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a": [1, "x\n", null, true, {}]}`, "a: 1\nb: [x, 'y', \"z\"]\n---\n- &x {k: v}\n- <<: *x\n", "[1", "\xef\xbb\xbf{}",
		"a: |\n  text\n  more\n", "? k\n: v\n", "!!int 5", "a:\r\n  b\u0085c: d", `"\ud83d\ude00"`, `["a\"b\\c\u00e9\/d"]`, "a: 'it''s'\nb: \"\\x41\\N\\_\\L\\\"\"", "%YAML 1.1\n---\na", "- - - x",
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, yaml bool) {
		docs, err := Parse(body, yaml)
		if err != nil {
			if at := fault.Place(err); fault.KindOf(err) != fault.Invalid || at < 0 || at > len(body) {
				t.Fatalf("malformed error %#v", err)
			}
			return
		}
		for _, d := range docs {
			check(t, d, body)
		}
	})
}

func commands(n int) []byte {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"AssetType":"Story","Name":"Story number %d of the load","Scope":"Scope:1001","Estimate":%d.5,`+
			`"Description":"<p>%s</p>","Owners":["Member:20","Member:1002"],"Status":"StoryStatus:134"}`, i, i%13, strings.Repeat("some words ", 8))
	}
	b.WriteByte(']')
	return []byte(b.String())
}

func BenchmarkParseJSON(b *testing.B) {
	body := commands(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body, false); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseYAML(b *testing.B) {
	body := commands(10_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body, true); err != nil {
			b.Fatal(err)
		}
	}
}
