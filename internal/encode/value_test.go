package encode

import (
	"math"
	"testing"

	"github.com/alds-dev/alds/internal/meta"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		cell Cell
		want string
	}{
		{Cell{Kind: Int, N: -7}, "-7"},
		{Cell{Kind: Float, F: 3}, "3"},
		{Cell{Kind: Float, F: 1.5}, "1.5"},
		{Cell{Kind: Float, F: 1e20}, "100000000000000000000"},
		{Cell{Kind: Float, F: 1e300}, "1e+300"},
		{Cell{Kind: Float, F: 1e-9}, "1e-09"},
		{Cell{Kind: Text, T: []byte("9007199254740993")}, "9007199254740993"},
		{Cell{Kind: Text, T: []byte("2.50")}, "2.5"},
		{Cell{Kind: Text, T: []byte("word")}, "null"},
		{Cell{}, "null"},
	} {
		if got := string(number(nil, c.cell)); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.cell, got, c.want)
		}
	}
}

func TestDate(t *testing.T) {
	const micros = 1504711586753_000
	for _, c := range []struct {
		attr *meta.Attr
		want string
	}{
		{nil, `"2017-09-06T15:26:26.753"`},
		{&meta.Attr{DateOnly: true}, `"2017-09-06"`},
		{&meta.Attr{UTC: true}, `"2017-09-06T15:26:26.7530000Z"`},
	} {
		if got := string(date(nil, Cell{Kind: Int, N: micros}, c.attr)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestStateHasANameOrANumber(t *testing.T) {
	for n, want := range map[int64]string{0: `"Future"`, 64: `"Active"`, 128: `"Closed"`, 200: `"Template"`, 255: `"Deleted"`, 209: `"209"`} {
		if got := string(state(nil, Cell{Kind: Int, N: n})); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestStringIsAlwaysJSON(t *testing.T) {
	for in, want := range map[string]string{
		"":              `""`,
		"a\"b\\c":       `"a\"b\\c"`,
		"line\r\nbreak": `"line\r\nbreak"`,
		"\x00\x1f":      `"\u0000\u001f"`,
		"<b>&amp;</b>":  `"<b>&amp;</b>"`,
		"zoë 日本 🙂":      `"zoë 日本 🙂"`,
		"bad\xff":       `"bad�"`,
	} {
		if got := string(String(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// TestTextStaysWhereItIs keeps cells valid while the arena grows.
func TestTextStaysWhereItIs(t *testing.T) {
	s := &Set{Width: 1}
	scan := s.Scanners()[0].(Scanner)
	long := make([]byte, 100_000)
	for i := range long {
		long[i] = 'x'
	}
	buffer := []byte("first")
	for _, v := range []any{buffer, string(long), "last", nil, int64(math.MaxInt64), true, 2.5} {
		if err := scan.Scan(v); err != nil {
			t.Fatal(err)
		}
	}
	copy(buffer, "XXXXX")
	if string(s.Cells[0].T) != "first" || len(s.Cells[1].T) != len(long) || string(s.Cells[2].T) != "last" {
		t.Errorf("texts moved: %q", s.Cells[0].T)
	}
	if s.Len() != 7 || s.Cells[3].Kind != Null || s.Cells[4].N != math.MaxInt64 || s.Cells[5].N != 1 || s.Cells[6].F != 2.5 {
		t.Errorf("got %+v", s.Cells[3:])
	}
	if err := scan.Scan(struct{}{}); err == nil {
		t.Error("a value of an unknown type is taken")
	}
}
