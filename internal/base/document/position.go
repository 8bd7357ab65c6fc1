package document

import "unicode/utf8"

// Position is a place in a text as editors show it; both numbers count from 1. Lines end with
// LF, CR LF or CR. Columns count Unicode code points, without a byte order mark.
type Position struct{ Line, Column int }

// Positions returns the positions of byte offsets, which must ascend. An offset inside a
// character has the position of the character. An offset after the end has the position of the
// end.
func Positions(body []byte, at []int) []Position {
	positions := make([]Position, len(at))
	i, s := 0, Position{Line: 1, Column: 1}
	for k, place := range at {
		for i < len(body) && i < place {
			_, n := utf8.DecodeRune(body[i:])
			if i+n > place {
				break
			}
			s = s.after(body, i)
			i += n
		}
		positions[k] = s
	}
	return positions
}

// after returns the position after the character at i.
func (s Position) after(body []byte, i int) Position {
	switch {
	case body[i] == '\n', body[i] == '\r' && (i+1 == len(body) || body[i+1] != '\n'):
		return Position{Line: s.Line + 1, Column: 1}
	case i == 0 && len(body) >= len(byteOrderMark) && string(body[:len(byteOrderMark)]) == string(byteOrderMark):
		return s
	}
	return Position{Line: s.Line, Column: s.Column + 1}
}
