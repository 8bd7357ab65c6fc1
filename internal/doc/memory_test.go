package doc

import (
	"strings"
	"testing"
)

func TestNeed(t *testing.T) {
	for _, c := range []struct {
		body string
		yaml bool
		want int // values
	}{
		{"", false, 1},
		{"1", false, 1},
		{`[1,2,3]`, false, 4},
		{`{"a": "b, [c] \" {d}: e", "f": []}`, false, 4},
		{`"a\`, false, 1},
		{"a: 1\nb: [2, 3]\n", true, 7},
	} {
		cost := int64(costJSON)
		if c.yaml {
			cost = costYAML
		}
		if got := MemoryNeed([]byte(c.body), c.yaml) / cost; got != int64(c.want) {
			t.Errorf("%s: %d values, want %d", c.body, got, c.want)
		}
	}
}

// TestNeedIsNotBelowTheNumberOfValues counts the nodes of bodies that are read.
func TestNeedIsNotBelowTheNumberOfValues(t *testing.T) {
	for _, body := range []string{
		`[` + strings.Repeat(`{"AssetType":"Story","Owners":["Member:20","Member:21"]},`, 50) + `{}]`,
		strings.Repeat("- a: 1\n  b: [x, y, {c: d}]\n", 50),
		strings.Repeat("a\n---\n", 50),
	} {
		yaml := Sniff([]byte(body))
		nodes, err := Parse([]byte(body), yaml)
		if err != nil {
			t.Fatal(err)
		}
		cost := int64(costJSON)
		if yaml {
			cost = costYAML
		}
		if got, want := MemoryNeed([]byte(body), yaml)/cost, count(nodes); got < want {
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
