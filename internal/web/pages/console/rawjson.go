package console

import "strings"

// maxRaw limits the bytes of an answer that are shown as text.
const maxRaw = 256 << 10

// spread indents JSON and stops after about maxBytes. whole is false if it stopped. The text
// may be invalid or incomplete JSON.
func spread(body []byte, maxBytes int) (text string, whole bool) {
	var b strings.Builder
	depth, inText, escaped := 0, false, false
	newLine := func() { b.WriteByte('\n'); b.WriteString(strings.Repeat("  ", min(max(depth, 0), 100))) }
	for i, c := range body {
		if b.Len() >= maxBytes {
			return strings.ToValidUTF8(b.String(), ""), false
		}
		switch {
		case inText:
			b.WriteByte(c)
			inText, escaped = c != '"' || escaped, c == '\\' && !escaped
		case c == '"':
			inText = true
			b.WriteByte(c)
		case c == '{' || c == '[':
			b.WriteByte(c)
			if i+1 < len(body) && (body[i+1] == '}' || body[i+1] == ']') {
				continue
			}
			depth++
			newLine()
		case c == '}' || c == ']':
			if i > 0 && body[i-1] != '{' && body[i-1] != '[' {
				depth--
				newLine()
			}
			b.WriteByte(c)
		case c == ',':
			b.WriteByte(c)
			newLine()
		case c == ':':
			b.WriteString(": ")
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}
