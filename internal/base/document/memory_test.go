package document

import (
	"strings"
	"testing"
)

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		body string
		form Format
		want int // number of values
	}{
		{"", JSON, 1},
		{"1", JSON, 1},
		{`[1,2,3]`, JSON, 4},
		{`{"a": "b, [c] \" {d}: e", "f": []}`, JSON, 4},
		{`"a\`, JSON, 1},
		{"a: 1\nb: [2, 3]\n", YAML, 7},
	} {
		cost := int64(costJSON)
		if c.form == YAML {
			cost = costYAML
		}
		if got := MemoryNeed([]byte(c.body), c.form) / cost; got != int64(c.want) {
			t.Errorf("%s: %d values, want %d", c.body, got, c.want)
		}
	}
}

func TestNeedOfXML(t *testing.T) {
	for body, want := range map[string][2]int64{ // numbers of elements and of attributes
		``:                             {0, 0},
		`<a/>`:                         {1, 0},
		`<a><b c="d"/><e></e></a>`:     {3, 1},
		`<a b=">" c='<'>x = y</a>`:     {2, 3},
		`<a><![CDATA[</</<b c=]]></a>`: {3, 1},
	} {
		want := textsXML*int64(len(body)) + want[0]*costElement + want[1]*costAttr
		if got := MemoryNeed([]byte(body), XML); got != want {
			t.Errorf("%s: %d bytes, want %d", body, got, want)
		}
	}
}

// TestNeedIsNotBelowTheNumberOfValues compares the estimate with the number of nodes of parsed
// bodies.
func TestNeedIsNotBelowTheNumberOfValues(t *testing.T) {
	for _, body := range []string{
		`[` + strings.Repeat(`{"AssetType":"Story","Owners":["Member:20","Member:21"]},`, 50) + `{}]`,
		strings.Repeat("- a: 1\n  b: [x, y, {c: d}]\n", 50),
		strings.Repeat("a\n---\n", 50),
	} {
		form, cost := JSON, int64(costJSON)
		if Sniff([]byte(body)) {
			form, cost = YAML, costYAML
		}
		nodes, err := Parse([]byte(body), form == YAML)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := MemoryNeed([]byte(body), form)/cost, count(nodes); got < want {
			t.Errorf("%d values are taken for %d", want, got)
		}
	}
}

func count(nodes []Node) (n int64) {
	for _, one := range nodes {
		n += 1 + count(one.Items)
	}
	return n
}
