package console

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/web/ui"
)

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x\n", 100)
	for name, c := range map[string]struct {
		text   string
		places []int
		want   []textLine
	}{
		"nothing":     {"a", nil, nil},
		"a word":      {"[{\"from\": \"Nix\"}]", []int{11}, []textLine{{Number: 1, Parts: []markedText{{Text: `[{"from": "`}, {Text: "Nix", Mark: true}, {Text: `"}]`}}}}},
		"a character": {"a,,b", []int{1}, []textLine{{Number: 1, Parts: []markedText{{Text: "a"}, {Text: ",", Mark: true}, {Text: ",b"}}}}},
		"the end":     {"ab\nc", []int{4}, []textLine{{Number: 1, Parts: []markedText{{Text: "ab"}}}, {Number: 2, Parts: []markedText{{Text: "c"}, {Text: " ", Mark: true}}}}},
		"the end of a line": {"ab\nc", []int{2}, []textLine{
			{Number: 1, Parts: []markedText{{Text: "ab"}, {Text: " ", Mark: true}}}, {Number: 2, Parts: []markedText{{Text: "c"}}},
		}},
		"beyond":     {"a", []int{99}, []textLine{{Number: 1, Parts: []markedText{{Text: "a"}, {Text: " ", Mark: true}}}}},
		"two places": {"a b", []int{2, 0, 0}, []textLine{{Number: 1, Parts: []markedText{{Text: ""}, {Text: "a", Mark: true}, {Text: " "}, {Text: "b", Mark: true}}}}},
		"spaces":     {"a:\n  - Nix", []int{3}, []textLine{{Number: 1, Parts: []markedText{{Text: "a:"}}}, {Number: 2, Parts: []markedText{{Text: "  "}, {Text: "-", Mark: true}, {Text: " Nix"}}}}},
		"letters":    {"für x", []int{0}, []textLine{{Number: 1, Parts: []markedText{{Text: ""}, {Text: "für", Mark: true}, {Text: " x"}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, excerpt(c.text, c.places)); d != "" {
				t.Errorf("want, got:\n%s", d)
			}
		})
	}
	var numbers []int
	for _, l := range excerpt(long, []int{0, 100}) {
		numbers = append(numbers, l.Number)
	}
	if d := cmp.Diff([]int{1, 2, 3, 4, 48, 49, 50, 51, 52, 53, 54}, numbers); d != "" {
		t.Errorf("lines around two places: %s", d)
	}
}

func TestSpread(t *testing.T) {
	for name, c := range map[string]struct {
		body, want string
		most       int
		whole      bool
	}{
		"an object":   {`{"a":[1,{"b":"x, y: {\"z\""}],"c":{},"d":[]}`, "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x, y: {\\\"z\\\"\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}", 1000, true},
		"too long":    {`["aaaa","bbbb"]`, "[\n  \"a", 6, false},
		"no JSON":     {`}}`, "}\n}", 100, true},
		"half a rune": {`"ää"`, `"ä`, 4, false},
	} {
		if got, whole := spread([]byte(c.body), c.most); got != c.want || whole != c.whole {
			t.Errorf("%s: %q, %t", name, got, whole)
		}
	}
}

func TestReadTable(t *testing.T) {
	rows := `[{"_oid":"Story:1","Name":"a","Super":{"_oid":"NULL"},"Owners":[{"_oid":"Member:20"},{"_oid":"Member:21"}]},
		{"_oid":"Story:2:77","Estimate":"3","Children":[{"_oid":"Task:3","Name":"t","Done":false},{"_oid":"Task:4","Name":null}]},{"_oid":"Story:3"}]`
	got, err := readTable(json.NewDecoder(strings.NewReader(rows)), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := resultTable{Columns: []string{"_oid", "Name", "Super", "Owners", "Estimate", "Children"}, Count: 3, Rows: [][]resultCell{
		{{{Text: "Story:1", Oid: "Story:1"}}, {{Text: "a"}}, nil, {{Text: "Member:20", Oid: "Member:20"}, {Text: ", "}, {Text: "Member:21", Oid: "Member:21"}}, nil, nil},
		{{{Text: "Story:2:77", Oid: "Story:2:77"}}, nil, nil, nil, {{Text: "3"}}, {{Text: "Task:3", Oid: "Task:3"}, {Text: " t, Done: false; "}, {Text: "Task:4", Oid: "Task:4"}}},
	}}
	if d := cmp.Diff(want, got); d != "" || got.Hidden() != 1 {
		t.Errorf("%d hidden; want, got:\n%s", got.Hidden(), d)
	}
	for _, wrong := range []string{``, `{}`, `[1`, `[{"a"`, `[{"a":1]`} {
		if _, err := readTable(json.NewDecoder(strings.NewReader(wrong)), 2); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

func TestChangeOf(t *testing.T) {
	names := map[string]string{"Member:20": "Ann", "Epic:1": "Checkout"}
	plain, removed, added := func(t string) string { return t }, func(t string) string { return "-" + t }, func(t string) string { return "+" + t }
	for name, c := range map[string]struct {
		before, change string
		known          bool
		want           []string
	}{
		"a number":              {`3`, `{"add":[5],"remove":[]}`, true, []string{removed("3"), plain(" → "), added("5")}},
		"cleared":               {`{"_oid":"Epic:1"}`, `{"add":[null],"remove":[]}`, true, []string{removed("Checkout")}},
		"set":                   {`{"_oid":"NULL"}`, `{"add":["Epic:1"],"remove":[]}`, true, []string{added("Checkout")}},
		"the same":              {`"x"`, `{"add":["x"],"remove":[]}`, true, []string{plain("x")}},
		"a text":                {`"Pay by card today"`, `{"find":"card","replace":"cash"}`, true, []string{plain("Pay by "), removed("card"), added("cash"), plain(" today")}},
		"nothing to find":       {`"Pay"`, `{"find":"","replace":"cash"}`, true, []string{plain("Pay")}},
		"a list":                {`[{"_oid":"Member:20"},{"_oid":"Member:21"}]`, `{"add":["Member:22"],"remove":["Member:20"]}`, true, []string{removed("Ann"), plain(", "), plain("Member:21"), plain(", "), added("Member:22")}},
		"removed and added":     {`["a"]`, `{"add":["a"],"remove":["a"]}`, true, []string{plain("a")}},
		"swapped":               {`["a","b"]`, `{"find":"a","replace":"c"}`, true, []string{removed("a"), plain(", "), plain("b"), plain(", "), added("c")}},
		"swapped with nothing":  {`["a"]`, `{"find":"a","replace":null}`, true, []string{removed("a")}},
		"not there to swap":     {`["a"]`, `{"find":"x","replace":"c"}`, true, []string{plain("a")}},
		"one that is unknown":   {`null`, `{"add":["x"],"remove":[]}`, false, []string{added("x")}},
		"many that are unknown": {`null`, `{"add":[],"remove":["Member:20"]}`, false, []string{removed("Ann")}},
		"a query":               {`null`, `{"from":"Epic"}`, true, []string{added(`{"from":"Epic"}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := parseOrdered([]byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			change, err := parseOrdered([]byte(c.change))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			pieces, _ := changeOf(before, change, c.known, names, new(ui.Differences))
			for _, p := range pieces {
				got = append(got, map[bool]string{true: "+"}[p.Added]+map[bool]string{true: "-"}[p.Removed]+p.Text)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("want, got:\n%s", d)
			}
		})
	}
}

func TestQueriesOf(t *testing.T) {
	for preview, want := range map[string]string{
		`[{"@a":{"from":"Story"}},{"@b":{"from":"Task","select":["Name"]}}]`:    "",
		`[{"@a":{"from":"Story"}},{"@b":{"from":"Story:1","execute":"Close"}}]`: "Only queries",
		`[{"@a":{"AssetType":"Story"}}]`:                                        "Only queries",
		`[{"@a":{"oid":"Story:1","update":{}}}]`:                                "Only queries",
		`[]`:                                                                    "has 0",
		`[`:                                                                     "cannot be read",
		`[` + strings.Repeat(`{"@a":{"from":"Story"}},`, 20) + `{"@a":{"from":"Story"}}]`: "has 21",
	} {
		if _, got := queriesOf([]byte(preview)); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%.80s: %q, want %q", preview, got, want)
		}
	}
}

// TestOrdered checks that parsing and formatting keep a JSON value unchanged.
func TestOrdered(t *testing.T) {
	const text = `{"b":[1,"<&>",null,{"z":true,"a":{}}],"a":12345678901234567890.5}`
	value, err := parseOrdered([]byte(text))
	if got := compactJSON(value); err != nil || got != text {
		t.Errorf("%s, %v", got, err)
	}
}

// TestAddress checks that the URL contains a request if it is short and has no password.
func TestAddress(t *testing.T) {
	v := &ui.Visit{Site: &ui.Site{Base: "/alds"}}
	for request, want := range map[string]string{
		`{"from": "Scope"}`:                "/alds/ui/console?request=%7B%22from%22%3A+%22Scope%22%7D",
		`{"update": {"Password": "x"}}`:    "/alds/ui/console",
		strings.Repeat("x", maxAddress):    "/alds/ui/console",
		strings.Repeat("x", maxLink):       "/alds/ui/console",
		strings.Repeat("x", maxAddress/10): "/alds/ui/console?request=" + strings.Repeat("x", maxAddress/10),
	} {
		c := console{Request: request, Path: commandPath}
		if c.Link, c.NoLink = carrying(v, c); address(v, c) != want {
			t.Errorf("%.40s leads to %.80s, want %.80s", request, address(v, c), want)
		}
	}
}
