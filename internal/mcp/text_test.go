package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAValueIsOneLine(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{``, ""},
		{`null`, ""},
		{`"Pay by card"`, "Pay by card"},
		{`"3.50"`, "3.50"},
		{`true`, "true"},
		{`12`, "12"},
		{`{"_oid":"Story:1005"}`, "Story:1005"},
		{`{"_oid":"NULL"}`, ""},
		{`[]`, ""},
		{`["a","b"]`, "a, b"},
		{`[{"_oid":"Member:20"},{"_oid":"Member:21"}]`, "Member:20, Member:21"},
		{`[{"_oid":"Task:1","Name":"x"}]`, `[{"_oid":"Task:1","Name":"x"}]`},
		{`"two\nlines\r\n and\u2028more"`, "two lines and more"},
		{`"a | b"`, `a \| b`},
		{`"a\\b"`, `a\\b`},
		{`"<p>One &amp; two</p><script>x()</script><p>three</p>"`, "One & two three"},
		{`"a\u200bb\u202ec\u0000d"`, "abc d"},
		{`"1 < 2"`, "1 < 2"},
		{`"List<String> and AT&amp;T"`, "List<String> and AT&amp;T"},
		{`"a\u3164b\ufe0fc\u2800d"`, "abcd"},
	} {
		if got := cell(json.RawMessage(c.raw)); got != c.want {
			t.Errorf("cell(%s) = %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestALongValueIsCut(t *testing.T) {
	if got, want := clipped("äöü", 6), "äöü"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := clipped("äöüß", 7), "äöü… (2 more bytes)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestADifferenceIsSeen checks that the two sides of a change differ, also if only markup or the end of a long text
// has changed.
func TestADifferenceIsSeen(t *testing.T) {
	long := strings.Repeat("ä", 500)
	for _, c := range []struct{ old, now, want string }{
		{`"List<String>"`, `"List<Int>"`, "N: List<String> → List<Int>"},
		{`"same"`, `"<p>same</p>"`, "N: same → <p>same</p>"},
		{`"same"`, `"same  "`, "N: same → the same but for spaces or characters that are not seen"},
		{`"x"`, `null`, "N: x → nothing"},
		{`null`, `"a → b"`, `N = a \→ b`},
		{`"` + long + ` one"`, `"` + long + ` two"`, "N: …" + strings.Repeat("ä", 20) + " one → …" + strings.Repeat("ä", 20) + " two"},
	} {
		if got := changed("N", exact(json.RawMessage(c.old)), exact(json.RawMessage(c.now))); got != c.want {
			t.Errorf("%.40s, %.40s: got %s, want %s", c.old, c.now, got, c.want)
		}
	}
}

// TestALargePlanIsShown checks that a change that is larger than an answer is shortened, so that the next call goes on.
func TestALargePlanIsShown(t *testing.T) {
	id := "x"
	p := planned{Plan: &id, Effect: []effect{
		{Asset: "Story:1", Attribute: "Description", Old: marshal(""), New: marshal(strings.Repeat("x", 25_000))},
		{Asset: "Story:2", Attribute: "TaggedWith", Added: strings.Split(strings.Repeat(strings.Repeat("t", 290)+",", 90), ",")},
	}}
	l := &lines{}
	if end := addEffect(l, p.Effect); end != 2 {
		t.Errorf("%d changes are shown: %s", end, l)
	}
	got, err := p.structured(0)
	if err != nil || got.IsError || strings.Contains(string(marshal(got.StructuredContent)), `"next":"`) {
		t.Errorf("%v %.300s", err, marshal(got))
	}
}

func TestAnAnswerIsCutAtALine(t *testing.T) {
	l := &lines{}
	n := 0
	for l.add(strings.Repeat("x", 99)) {
		n++
	}
	if want := (maxText - reserved) / 100; n != want {
		t.Errorf("%d lines fit, want %d", n, want)
	}
	if l.add("x") {
		t.Error("a line was added after a line that did not fit")
	}
	l.end("next: ", strings.Repeat("y", reserved-10))
	if got := len(l.String()); got > maxText {
		t.Errorf("the answer has %d bytes", got)
	}
}

// TestNoActivityIsLeftOut checks where a stream continues that is cut between two items of one change.
func TestNoActivityIsLeftOut(t *testing.T) {
	items := make([]activity, 4)
	for i, seq := range []int64{9, 8, 8, 7} {
		items[i].Body.Provider.CommitSeq = seq
	}
	for i, want := range map[int]int64{1: 9, 2: 9, 3: 8} {
		if got := before(items, i); got != want {
			t.Errorf("item %d comes after %d, want %d", i, got, want)
		}
	}
}

func TestATableNamesEqualColumnsOnce(t *testing.T) {
	var rows []row
	for _, name := range []string{"one", "two", "three"} {
		rows = append(rows, row{"_oid": marshal("Story:1"), "Name": marshal(name), "Scope.Name": marshal("Web shop"), "Status.Name": nil})
	}
	l := &lines{}
	if n := tableOf([]string{"Scope.Name", "Name", "Status.Name"}, rows).print(l); n != 3 {
		t.Errorf("%d rows were printed", n)
	}
	want := "In all rows: Scope.Name = Web shop|Status.Name = \nOid|Name\nStory:1|one\nStory:1|two\nStory:1|three"
	if got := l.String(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestArguments(t *testing.T) {
	type all struct {
		Size     whole
		Filter   texts
		Select   values
		Commands document
		From     string
	}
	for _, c := range []struct{ raw, want string }{
		{`{"size":"50","filter":"a","select":"b","commands":"[{}]"}`, ""},
		{`{"size":50,"filter":["a"],"select":["b",{"from":"c"}],"commands":{}}`, ""},
		{``, ""},
		{`null`, ""},
		{`{"sice":1}`, `The arguments cannot be read: unknown field "sice"`},
		{`{"from":1}`, "The argument From cannot be a number"},
		{`{"size":"many"}`, `The arguments cannot be read: "many" is not a whole number`},
		{`{"commands":"x"}`, `The arguments cannot be read: "x" is neither an object nor a list`},
		{`{} {}`, "The arguments cannot be read: more than one value"},
	} {
		var a all
		got := ""
		if err := decode(json.RawMessage(c.raw), &a); err != nil {
			got = err.Error()
		}
		if !strings.EqualFold(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestTheListOfToolsIsSmall(t *testing.T) {
	const most = 6 << 10
	for _, writes := range []string{"all", "proposals", "none"} {
		own := token{Bounds: &bounds{Writes: writes}}
		all := []any{}
		for _, tool := range tools() {
			if own.mayUse(tool.name) {
				all = append(all, tool.definition())
			}
		}
		if n := len(marshal(map[string]any{"tools": all})); n > most {
			t.Errorf("%s: the list has %d bytes, at most %d are allowed", writes, n, most)
		}
	}
	if n := len(instructions); n > 2048 {
		t.Errorf("the instructions have %d bytes", n)
	}
}
