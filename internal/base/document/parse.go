package document

import (
	"bytes"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/base/fault"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads one JSON value. If yaml is true, it reads a stream of YAML documents instead, and
// drops empty documents.
// Errors: fault.Invalid with the byte offset.
func Parse(body []byte, yaml bool) ([]Node, error) {
	skip, err := start(body)
	if err != nil {
		return nil, err
	}
	if yaml {
		return parseYAML(body, skip)
	}
	n, err := parseJSON(body, skip)
	if err != nil {
		return nil, err
	}
	return []Node{n}, nil
}

// start returns the offset of a body after its byte order mark.
// Errors: fault.Invalid for a body that is empty or not UTF-8.
func start(body []byte) (skip int, err error) {
	if bytes.HasPrefix(body, byteOrderMark) {
		skip = len(byteOrderMark)
	}
	if len(bytes.TrimSpace(body[skip:])) == 0 {
		return 0, fault.Invalidf(0, "The body is empty.")
	}
	if at := invalidUTF8(body); at >= 0 {
		return 0, fault.Invalidf(at, "The body is not valid UTF-8 at byte %d.", at)
	}
	return skip, nil
}

// Sniff reports whether a body is YAML, if its Content-Type does not say. A body is YAML if it
// does not begin like a JSON object or array.
func Sniff(body []byte) (yaml bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, byteOrderMark))
	return len(body) == 0 || body[0] != '{' && body[0] != '['
}

func invalidUTF8(body []byte) int {
	if utf8.Valid(body) {
		return -1
	}
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRune(body[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func tooDeep(at int) error {
	return fault.Invalidf(at, "The body is nested deeper than %d levels.", MaxDepth)
}

func tooMany(at int) error {
	return fault.Invalidf(at, "The body has more than %d values.", MaxNodes)
}
