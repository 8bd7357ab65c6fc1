package collation

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
	"unicode/utf8"
)

// The SQLite collation ALDS has the order of utf8mb4_unicode_ci. Each character has zero or more
// weights, which are numbers. Two texts are compared weight by weight, and the shorter text is
// padded with spaces.

// weightsFile has the weights of all characters whose weights cannot be computed, compressed with
// gzip. A character is stored as its distance from the previous character and the number of its
// weights, both as uvarint. Its weights follow as big-endian 16-bit numbers. A test compares the
// file with the weights of a server, and can write a new file.
//
//go:embed weights.gz
var weightsFile []byte

const (
	spaceWeight = 0x0209
	outside     = 0xFFFD // the weight of every character above U+FFFF
	several     = 1      // in weights.one: the character has several weights, in weights.more
	implicit    = 2      // in weights.one: the weights are computed from the code point
)

// weights has the weights of all characters up to U+FFFF.
type weights struct {
	one  [1 << 16]uint16 // the only weight of a character; 0: no weight; or several, or implicit
	more map[rune][]uint16
}

var weightTable = sync.OnceValue(func() *weights {
	w := &weights{more: map[rune][]uint16{}}
	for i := range w.one {
		w.one[i] = implicit
	}
	unzip, err := gzip.NewReader(bytes.NewReader(weightsFile))
	if err != nil {
		panic("collation: weights.gz: " + err.Error())
	}
	data, err := io.ReadAll(unzip)
	if err != nil {
		panic("collation: weights.gz: " + err.Error())
	}
	w.read(data)
	return w
})

func (w *weights) read(data []byte) {
	r := rune(-1)
	for len(data) > 0 {
		step, n := binary.Uvarint(data)
		count, m := binary.Uvarint(data[n:])
		data = data[n+m:]
		r += rune(step)
		list := make([]uint16, count)
		for i := range list {
			list[i] = binary.BigEndian.Uint16(data[2*i:])
		}
		data = data[2*count:]
		switch count {
		case 0:
			w.one[r] = 0
		case 1:
			w.one[r] = list[0]
		default:
			w.one[r] = several
			w.more[r] = list
		}
	}
}

// This method returns the weights of a character. Computed weights are stored in buf.
func (w *weights) of(r rune, buf *[2]uint16) []uint16 {
	if r > 0xFFFF {
		buf[0] = outside
		return buf[:1]
	}
	switch one := w.one[r]; one {
	case 0:
		return nil
	case several:
		return w.more[r]
	case implicit:
		buf[0], buf[1] = implicitBase(r)+uint16(r>>15), uint16(r&0x7FFF)|0x8000
		return buf[:2]
	default:
		buf[0] = one
		return buf[:1]
	}
}

func implicitBase(r rune) uint16 {
	switch {
	case r >= 0x3400 && r <= 0x4DB5:
		return 0xFB80
	case r >= 0x4E00 && r <= 0x9FA5:
		return 0xFB40
	}
	return 0xFBC0
}

// scanner reads the weights of a text one by one.
type scanner struct {
	w    *weights
	s    string
	left []uint16
	buf  [2]uint16
}

// next returns the next weight that is not ignored, or 0 at the end.
func (sc *scanner) next() uint16 {
	for len(sc.left) == 0 {
		if sc.s == "" {
			return 0
		}
		if c := sc.s[0]; c < utf8.RuneSelf {
			sc.s = sc.s[1:]
			if one := sc.w.one[c]; one != 0 {
				return one
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(sc.s)
		sc.s = sc.s[n:]
		sc.left = sc.w.of(r, &sc.buf)
	}
	weight := sc.left[0]
	sc.left = sc.left[1:]
	return weight
}

// Compare returns the order of two texts in a text column: -1, 0 or 1. The order ignores case,
// accents and trailing spaces. Texts that compare as 0 need not be equal.
func Compare(a, b string) int {
	w := weightTable()
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] && a[0] < utf8.RuneSelf {
		a, b = a[1:], b[1:]
	}
	if len(a) > 0 && len(b) > 0 && a[0] < utf8.RuneSelf && b[0] < utf8.RuneSelf { // most texts differ here
		if p, q := w.one[a[0]], w.one[b[0]]; p > implicit && q > implicit && p != q {
			return cmp.Compare(p, q)
		}
	}
	x, y := scanner{w: w, s: a}, scanner{w: w, s: b}
	for {
		p, q := x.next(), y.next()
		if p == q {
			if p == 0 {
				return 0
			}
			continue
		}
		if p == 0 {
			return padded(q, &y, -1)
		}
		if q == 0 {
			return padded(p, &x, 1)
		}
		if p < q {
			return -1
		}
		return 1
	}
}

// padded compares the rest of the longer text, starting with weight p, with spaces. It returns sign
// if the rest is greater, -sign if the rest is smaller, and 0 otherwise.
func padded(p uint16, rest *scanner, sign int) int {
	for ; p != 0; p = rest.next() {
		if p > spaceWeight {
			return sign
		}
		if p < spaceWeight {
			return -sign
		}
	}
	return 0
}
