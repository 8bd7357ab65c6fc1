package document

import (
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// offsets converts the lines and columns of the YAML parser to byte offsets. Lines and columns
// count from 1. A column is a character. Nodes must be converted in the order of the text, so that
// a long line is read only once.
type offsets struct {
	body  []byte
	lines []int // offset of the start of each line

	onLine, onColumn, offset int // position of the node that was converted last
}

func newOffsets(body []byte, skip int) offsets {
	p := offsets{body: body, lines: []int{skip}}
	for i := skip; i < len(body); {
		if n := lineBreak(body[i:]); n > 0 {
			i += n
			p.lines = append(p.lines, i)
			continue
		}
		i++
	}
	return p
}

// lineBreak returns the length of the line break at the start of b, or 0. It accepts the same
// line breaks as the parser.
func lineBreak(b []byte) int {
	switch {
	case len(b) == 0:
		return 0
	case b[0] == '\n':
		return 1
	case b[0] == '\r' && len(b) > 1 && b[1] == '\n':
		return 2
	case b[0] == '\r':
		return 1
	case b[0] == 0xC2 && len(b) > 1 && b[1] == 0x85:
		return 2
	case b[0] == 0xE2 && len(b) > 2 && b[1] == 0x80 && (b[2] == 0xA8 || b[2] == 0xA9):
		return 3
	}
	return 0
}

// line returns the offset of the start of line n, which counts from 1.
func (p *offsets) line(n int) int {
	return p.lines[max(0, min(n, len(p.lines))-1)]
}

// of returns the offset of a node.
func (p *offsets) of(y *yaml.Node) int {
	if y.Line < 1 {
		return 0
	}
	if y.Line != p.onLine || y.Column < p.onColumn {
		p.onLine, p.onColumn, p.offset = y.Line, 1, p.line(y.Line)
	}
	for p.onColumn < y.Column && p.offset < len(p.body) {
		_, n := utf8.DecodeRune(p.body[p.offset:])
		p.offset += n
		p.onColumn++
	}
	return p.offset
}
