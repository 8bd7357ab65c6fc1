package doc

import "unicode/utf8"

// Spot is a place in a text as an editor tells it, both from one. Lines end
// with LF, CR LF or CR; columns count characters (Unicode code points), not
// bytes, and a byte order mark is none.
type Spot struct{ Line, Column int }

// Spots returns the spots of byte offsets, which must ascend, in one walk over
// the body. One within a character is that character's, one behind the end is
// the end's.
func Spots(body []byte, at []int) []Spot {
	spots := make([]Spot, len(at))
	i, s := 0, Spot{Line: 1, Column: 1}
	for k, place := range at {
		for i < len(body) && i < place {
			_, n := utf8.DecodeRune(body[i:])
			if i+n > place {
				break
			}
			s = s.after(body, i)
			i += n
		}
		spots[k] = s
	}
	return spots
}

// after returns the spot behind the character at i.
func (s Spot) after(body []byte, i int) Spot {
	switch {
	case body[i] == '\n', body[i] == '\r' && (i+1 == len(body) || body[i+1] != '\n'):
		return Spot{Line: s.Line + 1, Column: 1}
	case i == 0 && len(body) >= len(byteOrderMark) && string(body[:len(byteOrderMark)]) == string(byteOrderMark):
		return s
	}
	return Spot{Line: s.Line, Column: s.Column + 1}
}
