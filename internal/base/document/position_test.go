package document

import (
	"bytes"
	"slices"
	"testing"
)

func TestSpots(t *testing.T) {
	for _, c := range []struct {
		what, body string
		at         []int
		want       []Position
	}{
		{"the beginning", `{}`, []int{0}, []Position{{1, 1}}},
		{"the same place twice", "ab", []int{1, 1}, []Position{{1, 2}, {1, 2}}},
		{"LF", "a\nb", []int{1, 2}, []Position{{1, 2}, {2, 1}}},
		{"CR LF is one end", "a\r\nb", []int{1, 2, 3}, []Position{{1, 2}, {1, 3}, {2, 1}}},
		{"CR alone", "a\rb\r", []int{2, 4}, []Position{{2, 1}, {3, 1}}},
		{"characters and not bytes", "é🍎x", []int{2, 6}, []Position{{1, 2}, {1, 3}}},
		{"within a character", "é🍎x", []int{1, 4}, []Position{{1, 1}, {1, 2}}},
		{"a byte order mark has no column", "\ufeff{}", []int{3, 4}, []Position{{1, 1}, {1, 2}}},
		{"behind the end", "a\n", []int{2, 9}, []Position{{2, 1}, {2, 1}}},
		{"an empty body", "", []int{0}, []Position{{1, 1}}},
		{"no place", "a", nil, []Position{}},
	} {
		if got := Positions([]byte(c.body), c.at); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// FuzzSpots compares the result of Positions with positions that are counted from the start of the
// body for each offset.
func FuzzSpots(f *testing.F) {
	f.Add([]byte("\ufeffa\r\né\r\n\n🍎"), 7, 12)
	f.Add([]byte("\xff\xe2\x80\r"), 1, 2)
	f.Fuzz(func(t *testing.T, body []byte, a, b int) {
		if a < 0 || b < a || b > len(body) {
			return
		}
		for k, s := range Positions(body, []int{a, b}) {
			text := body[:[]int{a, b}[k]]
			whole := bytes.TrimPrefix(text, byteOrderMark)
			ends := bytes.Count(whole, []byte{'\n'}) + bytes.Count(whole, []byte{'\r'}) - bytes.Count(whole, []byte("\r\n"))
			if len(text) > 0 && text[len(text)-1] == '\r' && len(text) < len(body) && body[len(text)] == '\n' {
				ends--
			}
			if s.Line != ends+1 || s.Column < 1 {
				t.Errorf("%q at %d: %v, want line %d", body, []int{a, b}[k], s, ends+1)
			}
		}
	})
}
