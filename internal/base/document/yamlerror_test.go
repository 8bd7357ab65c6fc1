package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestAMistakeInYAMLIsOnItsLine checks that an error names the line of the mistake for any
// beginning of the body. The parser often names another line.
func TestAMistakeInYAMLIsOnItsLine(t *testing.T) {
	for _, c := range []struct {
		what, body string
		line       int
		says       string // the message; "%d" stands for a line number
		begins     int    // the second line that the message names
	}{
		{"a key between two indentations", "from: Story\nwhere:\n  A: 1\n B: 2\n", 4, "did not find expected key, in what begins on line %d", 1},
		{"an item between two indentations", "from: Story\nselect:\n  - Name\n - Number\n", 4, "did not find expected key, in what begins on line %d", 1},
		{"a key between an item and its keys", "a:\n  - b: 1\n    c: 2\n   d: 3\n", 4, "did not find expected '-' indicator, in what begins on line %d", 2},
		{"an item among keys", "a: b\n- c\n", 2, "did not find expected key, in what begins on line %d", 1},
		{"a key among items", "- a\nb: c\n", 2, "did not find expected '-' indicator, in what begins on line %d", 1},
		{"text behind a quote", "a: 'it's'\nb: 2\n", 1, "did not find expected key", 0},
		{"a comma is missing", "{\n  \"from\": \"Story\"\n  \"select\": [\"Name\"]\n}\n", 3, "did not find expected ',' or '}', in what begins on line %d", 1},
		{"a comma is missing in a list", "a:\n- [x,\n  \"y\"\n  \"z\"]\n", 4, "did not find expected ',' or ']', in what begins on line %d", 2},
		{"a list is not closed", "a: [1, 2\nb: 3\n", 2, "did not find expected ',' or ']', in what begins on line %d", 1},
		{"a bracket too many", "a: 1\nb: ]\n", 2, "did not find expected node content", 0},
		{"a bracket in the place of a key", "a: 1\n]\n", 2, "did not find expected key, in what begins on line %d", 1},
		{"a tag that nothing defines", "a: 1\nb: !x!y z\n", 2, "found undefined tag handle", 0},
		{"two documents without a mark", "\"from\"\nwhere: x\n", 2, "did not find expected <document start>", 0},
		{"a quote is not closed", "a: 1\nfrom: \"Story\nselect: [Name]\n", 2, "found unexpected end of stream", 0},
		{"a document ends within a quote", "a: 'x\n---\nb: y'\n", 1, "found unexpected document indicator", 0},
		{"an escape that there is not", "a: 1\nb: \"x\n  y\\q z\"\n", 3, "found unknown escape character, in what begins on line %d", 2},
		{"an escape without its digits", "b: \"x\n  y\\u12 z\"\n", 2, "did not find expected hexdecimal number, in what begins on line %d", 1},
		{"an escape of no character", "b: \"\\ud800\"\n", 1, "found invalid Unicode character escape code", 0},
		{"a key without a colon", "a:\n  b: 1\n  c\n  d: 2\n", 3, "could not find expected ':'", 0},
		{"a value in the place of a key", "a: 1\n  b: 2\n", 2, "mapping values are not allowed in this context", 0},
		{"the same mistake twice", "a: 1\n b: 2\n c: 3: 4\n", 2, "mapping values are not allowed in this context", 0},
		{"an item behind a key", "a: 1\nb: - x\n", 2, "block sequence entries are not allowed in this context", 0},
		{"a tab in the place of spaces", "a: 1\n\tb: 2\n", 2, "found a tab character that violates indentation, in what begins on line %d", 1},
		{"a tab in a block", "a: |\n  x\n\ty\n", 3, "found a tab character where an indentation space is expected, in what begins on line %d", 1},
		{"a character that begins nothing", "a: 1\nb: @x\nc: d\n", 2, "found character that cannot start any token", 0},
		{"an alias without a name", "a: 1\nb: *\n", 2, "did not find expected alphabetic or numeric character", 0},
		{"an alias that nothing anchors", "a: '*none' # *none\nb: [*none, \"x\n  y\"]\n", 2, "unknown anchor 'none' referenced", 0},
		{"an alias whose name another one begins with", "a: &none-x 1\nb: *none-x\nc: *none\n", 3, "unknown anchor 'none' referenced", 0},
		{"a control character", "a: 1\nb: é\x01y\n", 2, "control characters are not allowed", 0},
	} {
		for _, before := range []string{"", "# a comment\n", "\n\n", "\ufeff", "z: 0\n---\n", "\u2028\n"} {
			body, up := before+c.body, strings.Count(before, "\n")
			for _, b := range []string{body, strings.ReplaceAll(body, "\n", "\r\n")} {
				want := fmt.Sprintf("Invalid YAML: line %d: %s.", c.line+up, c.says)
				if c.begins > 0 {
					want = fmt.Sprintf(want, c.begins+up)
				}
				_, err := Parse([]byte(b), true)
				if err == nil {
					t.Errorf("%s: %q is taken", c.what, b)
					continue
				}
				if at := Positions([]byte(b), []int{fault.Place(err)})[0]; at.Line != c.line+up || fault.Public(err) != want {
					t.Errorf("%s: %q: %v, %s\nwant line %d, %s", c.what, b, at, fault.Public(err), c.line+up, want)
				}
			}
		}
	}
}

// TestAMistakeInLongYAML checks a body that is too long to be parsed again. The error has the line
// that the parser names. It is the line of the mistake, or the line where the construct around the
// mistake begins.
func TestAMistakeInLongYAML(t *testing.T) {
	long := "# " + strings.Repeat("x", maxSearched) + "\n"
	for _, c := range []struct {
		body  string
		place int // offset of the error, from the end of the long line
		want  string
	}{
		{"a:\n  b: 1\n c: 2\n", 0, "Invalid YAML: line 2: did not find expected key."},
		{"a: 1\nb: ]\n", 5, "Invalid YAML: line 3: did not find expected node content."},
		{"a: 1\nb: @\n", 5, "Invalid YAML: line 3: found character that cannot start any token."},
		{"a: 1\nb: \x01\n", 8, "Invalid YAML: line 3: control characters are not allowed."},
		{"a: 1\nb: *none\n", -len(long), "Invalid YAML: unknown anchor 'none' referenced."},
	} {
		_, err := Parse([]byte(long+c.body), true)
		if at := fault.Place(err); at != len(long)+c.place || fault.Public(err) != c.want {
			t.Errorf("%q: %d, %s\nwant %d, %s", c.body, at, fault.Public(err), len(long)+c.place, c.want)
		}
	}
}
