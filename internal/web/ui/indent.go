package ui

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxIndented is how many bytes indented JSON may have: indentation costs depth times
// elements, which is a thousandfold of what somebody has sent.
const maxIndented = 256 << 10

// IndentedJSON lays JSON out over lines; what is none, or would be too long, is shown as
// it came, as far as it may be.
func IndentedJSON(b []byte) string {
	var text bytes.Buffer
	if indentedSize(b) > maxIndented || json.Indent(&text, b, "", "  ") != nil {
		return strings.ToValidUTF8(string(b[:min(len(b), maxIndented)]), "")
	}
	return text.String()
}

// indentedSize is at least as much as JSON has once it is indented.
func indentedSize(b []byte) int {
	size, depth, quoted := len(b), 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			size += 2*depth + 1
		case c == '}' || c == ']':
			depth--
			size += 2*max(depth, 0) + 1
		case c == ',':
			size += 2*max(depth, 0) + 1
		case c == ':':
			size++
		}
	}
	return size
}
