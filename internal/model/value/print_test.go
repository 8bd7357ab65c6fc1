package value

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
)

func TestPrint(t *testing.T) {
	day, utc := &meta.Attr{DateOnly: true}, &meta.Attr{UTC: true}
	const micros = int64(1504711586753_000)
	for _, c := range []struct {
		kind      meta.Kind
		attr      *meta.Attr
		v         any
		row, data string
	}{
		{meta.Numeric, nil, nil, `null`, `null`},
		{meta.Numeric, nil, int64(-7), `"-7"`, `-7`},
		{meta.Numeric, nil, 3.0, `"3"`, `3`},
		{meta.Numeric, nil, 1.5, `"1.5"`, `1.5`},
		{meta.Numeric, nil, 1e6, `"1000000"`, `1000000`},
		{meta.Numeric, nil, 1e20, `"100000000000000000000"`, `100000000000000000000`},
		{meta.Numeric, nil, 1e300, `"1e+300"`, `1e+300`},
		{meta.Numeric, nil, 1e-9, `"1e-09"`, `1e-09`},
		{meta.Numeric, nil, "9007199254740993", `"9007199254740993"`, `9007199254740993`},
		{meta.Numeric, nil, "2.50", `"2.5"`, `2.5`},
		{meta.Numeric, nil, json.Number("1e+06"), `"1000000"`, `1000000`},
		{meta.LongInt, nil, "+07", `"7"`, `7`},
		{meta.Opaque, nil, int64(1265), `"1265"`, `1265`},
		{meta.State, nil, int64(0), `"Future"`, `0`},
		{meta.State, nil, int64(208), `"Broken Down"`, `208`},
		{meta.State, nil, int64(209), `"209"`, `209`},
		{meta.State, nil, "64", `"Active"`, `64`},
		{meta.Boolean, nil, true, `true`, `true`},
		{meta.Boolean, nil, int64(0), `false`, `false`},
		{meta.Boolean, nil, "true", `true`, `true`},
		{meta.Boolean, nil, "1", `true`, `true`},
		{meta.Boolean, nil, nil, `null`, `null`},
		{meta.Date, nil, micros, `"2017-09-06T15:26:26.753"`, `"2017-09-06T15:26:26.753"`},
		{meta.Date, day, micros, `"2017-09-06"`, `"2017-09-06"`},
		{meta.Date, utc, json.Number("1504711586753000"), `"2017-09-06T15:26:26.7530000Z"`, `"2017-09-06T15:26:26.7530000Z"`},
		{meta.Date, utc, int64(0), `"1970-01-01T00:00:00.0000000Z"`, `"1970-01-01T00:00:00.0000000Z"`},
		{meta.Text, nil, "a<b", `"a<b"`, `"a<b"`},
		{meta.Text, nil, "", `""`, `""`},
		{meta.Duration, nil, "2 Weeks", `"2 Weeks"`, `"2 Weeks"`},
	} {
		v, ok := Of(c.v)
		if !ok {
			t.Fatalf("%T has no scalar", c.v)
		}
		if row := string(AppendRow(nil, v, c.kind, c.attr)); row != c.row {
			t.Errorf("%s %v: row %s, want %s", c.kind, c.v, row, c.row)
		}
		if data := string(AppendData(nil, v, c.kind, c.attr)); data != c.data {
			t.Errorf("%s %v: data %s, want %s", c.kind, c.v, data, c.data)
		}
	}
	if _, ok := Of(struct{}{}); ok {
		t.Error("a struct is taken for a scalar")
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
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

// TestLongStrings checks that a text of several parts is quoted like a shorter one, wherever
// its parts meet.
func TestLongStrings(t *testing.T) {
	for _, unit := range []string{"a", "é", "日", "🙂", "\"", "\xff", "\x80", "🙂\xf0\x9f", "\n日"} {
		for shift := range 5 {
			in := strings.Repeat(" ", shift) + strings.Repeat(unit, 2*stretch/len(unit)+3)
			want, _ := jsontext.AppendQuote([]byte("x"), in)
			if got := AppendString([]byte("x"), in); !bytes.Equal(got, want) {
				t.Errorf("%q, shifted by %d: %d bytes, want %d", unit, shift, len(got), len(want))
			}
		}
	}
}

func TestMarshalKeepsHTML(t *testing.T) {
	b, err := Marshal(map[string]string{"a": "<&>"})
	if err != nil || string(b) != `{"a":"<&>"}` {
		t.Errorf("got %s, %v", b, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function is JSON")
	}
}
