package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/base/fault"
)

// Most errors of the YAML parser name a line, but not always the line of the mistake:
//
//   - Errors of its grammar count lines from 0, and errors of its scanner from 1. Errors on
//     the first line have no line number.
//   - Some mistakes are inside a construct, such as a mapping or a quoted text. The error
//     names the line where the construct begins. If the construct begins on the first line,
//     the error names the line of the mistake.
//   - Errors about a forbidden character or an alias without an anchor have no line.
//
// Therefore the text is parsed twice more. First, an empty line is put before the text, and the
// error then names the line where the construct begins. Then the text is parsed from this line on,
// and the error names the line of the mistake.

// grammarErrors are the errors of the parser's grammar. All other errors with a line are errors
// of the parser's scanner.
var grammarErrors = []string{
	"did not find expected <stream-start>", "did not find expected <document start>", "did not find expected node content",
	"did not find expected '-' indicator", "did not find expected key", "did not find expected ',' or ']'", "did not find expected ',' or '}'",
	"found undefined tag handle", "found duplicate %YAML directive", "found incompatible YAML document", "found duplicate %TAG directive",
}

// innerErrors are the errors about a mistake inside a construct that may begin on an earlier line.
// The error about a construct that is not closed is not among them, because that mistake is at the
// beginning of the construct.
var innerErrors = []string{
	"did not find expected '-' indicator", "did not find expected key", "did not find expected ',' or ']'", "did not find expected ',' or '}'",
	"found unknown escape character", "did not find expected hexdecimal number", "found invalid Unicode character escape code",
	"found a tab character where an indentation space is expected", "found a tab character that violates indentation",
}

// Limits of the search for a mistake: maxSearched bytes of the body that are parsed again, and
// maxAliases places that are tried for one alias.
const (
	maxSearched = 128 << 10
	maxAliases  = 4
)

// yamlError is an error of the parser, with its message and its line, counted from 0.
type yamlError struct {
	says string
	line int // also 0 if the parser names no line
}

func newYAMLError(err error) yamlError {
	e := yamlError{says: strings.TrimPrefix(err.Error(), "yaml: ")}
	rest, ok := strings.CutPrefix(e.says, "line ")
	if !ok {
		return e
	}
	number, says, _ := strings.Cut(rest, ": ")
	line, err := strconv.Atoi(number)
	if err != nil {
		return e
	}
	e.says = says
	if e.line = line; !slices.Contains(grammarErrors, says) {
		e.line--
	}
	return e
}

// errorOf returns the error of the parser for a text. ok is false if the text has no error.
func errorOf(text []byte) (e yamlError, ok bool) {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var d yaml.Node
		if err := dec.Decode(&d); errors.Is(err, io.EOF) {
			return e, false
		} else if err != nil {
			return newYAMLError(err), true
		}
	}
}

// fail converts an error of the parser to a fault with the place of the mistake.
func (p *yamlParser) fail(err error) error {
	e := newYAMLError(err)
	at, begin := p.search(e)
	if strings.HasPrefix(e.says, "exceeded max depth") { // the parser's own limit, which is higher than MaxDepth
		return tooDeep(max(at, 0))
	}
	if at < 0 {
		return fault.Invalidf(0, "Invalid YAML: %s.", e.says)
	}
	inside, lines := "", Positions(p.offsets.body, []int{begin, at})
	if lines[0].Line != lines[1].Line {
		inside = fmt.Sprintf(", in what begins on line %d", lines[0].Line)
	}
	return fault.Invalidf(at, "Invalid YAML: line %d: %s%s.", lines[1].Line, e.says, inside)
}

// search returns the offset of a mistake, and the offset where the construct around it begins. at
// is negative if the mistake is not found. Both are the start of a line, except for forbidden
// characters and for aliases.
func (p *yamlParser) search(e yamlError) (at, begin int) {
	body, first := p.offsets.body, p.offsets.line(1)
	if strings.HasPrefix(e.says, "control characters") {
		if at = bytes.IndexFunc(body[first:], isRefused); at >= 0 {
			at += first
		}
		return at, at
	}
	if name, ok := strings.CutPrefix(e.says, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		at = p.alias(name, e.says)
		return at, at
	}
	if len(body) > maxSearched {
		at = p.offsets.line(e.line + 1)
		return at, at
	}
	line := e.line
	if again, ok := errorOf(append([]byte("\n"), body[first:]...)); ok && again.says == e.says {
		line = again.line - 1
	}
	begin = p.offsets.line(line + 1)
	if inner, ok := errorOf(body[begin:]); ok && inner.says == e.says && slices.Contains(innerErrors, e.says) {
		line += inner.line
	}
	return p.offsets.line(line + 1), begin
}

// isRefused reports whether the parser refuses a character everywhere in a text.
func isRefused(r rune) bool {
	return r != '\t' && r != '\n' && r != '\r' && r != 0x85 && (unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF)
}

// alias returns the offset of an alias without an anchor. That is the first alias of this name for
// which the text up to the alias has the error. The result is negative if alias has tried too many
// places, or if the body is too long.
func (p *yamlParser) alias(name, says string) int {
	body, first, at := p.offsets.body, p.offsets.line(1), 0
	if len(body) > maxSearched {
		return -1
	}
	for range maxAliases {
		i := bytes.Index(body[at:], []byte("*"+name))
		if i < 0 {
			break
		}
		begin := at + i
		// Skip the rest of a longer name.
		for at = begin + len("*"+name); at < len(body) && isAnchor(body[at]); at++ {
		}
		if e, ok := errorOf(body[first:at]); ok && e.says == says {
			return begin
		}
	}
	return -1
}

// isAnchor reports whether the name of an anchor may contain a byte.
func isAnchor(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c == '-'
}
