package value

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/meta"
)

// A stored value is read back unchanged.
func TestStored(t *testing.T) {
	for _, c := range []struct {
		kind meta.Kind
		v    any
		json string
	}{
		{meta.Boolean, true, `true`},
		{meta.Boolean, false, `false`},
		{meta.Numeric, 1e6, `1e+06`},
		{meta.Numeric, 0.1, `0.1`},
		{meta.LongInt, int64(-7), `-7`},
		{meta.Date, int64(1504711586753_000), `1504711586753000`},
		{meta.Text, "a\"<b>", `"a\"<b>"`},
		{meta.Text, "", `""`},
	} {
		text := JSON(c.v)
		if text != c.json {
			t.Errorf("%s %v: stored as %s, want %s", c.kind, c.v, text, c.json)
		}
		if got := FromJSON(c.kind, text); got != c.v {
			t.Errorf("%s %s: read as %v, want %v", c.kind, text, got, c.v)
		}
	}
	for kind, text := range map[meta.Kind]string{meta.LongInt: "1.5", meta.Numeric: "null", meta.Text: `"`} {
		if got := FromJSON(kind, text); got != nil {
			t.Errorf("%s %s: read as %v", kind, text, got)
		}
	}
}

func TestFromColumn(t *testing.T) {
	for _, c := range []struct {
		kind    meta.ColumnKind
		v, want any
	}{
		{meta.Str, []byte("x"), "x"},
		{meta.Long, "x", "x"},
		{meta.Number, []byte("1.5"), 1.5},
		{meta.Number, int64(2), 2.0},
		{meta.Int, []byte("12"), int64(12)},
		{meta.Ref, int64(12), int64(12)},
		{meta.Micros, nil, nil},
	} {
		if got := FromColumn(c.kind, c.v); got != c.want {
			t.Errorf("%s %v: got %v, want %v", c.kind, c.v, got, c.want)
		}
	}
}

func TestOrUnset(t *testing.T) {
	yes := &meta.Attr{Kind: meta.Boolean, Default: "true"}
	if OrUnset(yes, nil) != true || OrUnset(yes, false) != false || OrUnset(&meta.Attr{}, nil) != false {
		t.Error("a Boolean that was never written does not read as its attribute says")
	}
}

// Every attribute kind in the model has a line in the table kinds.
func TestEveryKind(t *testing.T) {
	for _, typ := range meta.Default().Types {
		for _, a := range typ.Attrs {
			if kinds[a.Kind] == nil {
				t.Fatalf("%s: no line for kind %s", a.Token(), a.Kind)
			}
		}
	}
	for name, c := range map[string]struct {
		is   func(meta.Kind) bool
		want []meta.Kind
	}{
		"numbers":    {IsNumber, []meta.Kind{meta.Numeric, meta.Rank, meta.LongInt}},
		"texts":      {IsText, []meta.Kind{meta.Text, meta.LongText, meta.LocalizerTag, meta.GUID, meta.Duration}},
		"free texts": {IsFreeText, []meta.Kind{meta.Text, meta.LongText, meta.LocalizerTag}},
	} {
		n := 0
		for k := range kinds {
			if c.is(k) {
				n++
			}
		}
		for _, k := range c.want {
			if !c.is(k) {
				t.Errorf("%s are not %s", k, name)
			}
		}
		if n != len(c.want) {
			t.Errorf("%d kinds are %s, want %d", n, name, len(c.want))
		}
	}
}

func TestMembers(t *testing.T) {
	read := func(object string) (string, error) {
		got := ""
		err := Members(object, func(key string, v jsontext.Token) error {
			got += key + "=" + v.String() + " "
			return nil
		})
		return got, err
	}
	if got, err := read(`{"a": "x\ny", "b":1.50,"c":true,"d":null}`); err != nil || got != "a=x\ny b=1.50 c=true d=null " {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := read(""); err != nil || got != "" {
		t.Errorf("nothing: got %q, %v", got, err)
	}
	for _, bad := range []string{`[]`, `7`, `{"a":{}}`, `{"a":[]}`, `{"a":1`, `{"a":1,}`, `{"a" 1}`} {
		if got, err := read(bad); err == nil {
			t.Errorf("%s: got %q", bad, got)
		}
	}
}
