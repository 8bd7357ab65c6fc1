package ui

import (
	"bytes"
	"encoding/json"
	"strings"
)

// maxIndented limits the bytes of indented JSON. Indentation adds bytes for each element at
// each level, so deeply nested JSON can become a thousand times larger.
const maxIndented = 256 << 10

// IndentedJSON indents JSON over several lines. If the text is not JSON, or would be too
// large, it returns the text unchanged, cut off at maxIndented bytes.
func IndentedJSON(b []byte) string {
	var text bytes.Buffer
	if indentedSize(b) > maxIndented || json.Indent(&text, b, "", "  ") != nil {
		return strings.ToValidUTF8(string(b[:min(len(b), maxIndented)]), "")
	}
	return text.String()
}

// indentedSize returns an upper bound of the bytes of the JSON after indentation.
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
