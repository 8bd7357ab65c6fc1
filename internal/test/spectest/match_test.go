package spectest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	more   = "<rest>"   // as the last element of a list or as the name of a member: there may be more
	absent = "<absent>" // as the value of a member: the answer must not have the member
)

// forms has the placeholders that stand for a text of a certain form, each with its regular expression.
var forms = []struct {
	word string
	form string
}{
	{"<uuid>", `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`},
	{"<time>", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z?`},
	{"<id>", `-?\d+`},
	{"<any>", `(?s:.*)`},
}

// match compares two decoded JSON values. It returns a description of the first difference, or "" if there
// is none. If part is true, objects in got may have members that want does not have. at is the path of the
// values.
func match(at string, want, got any, part bool) string {
	switch w := want.(type) {
	case map[string]any:
		return matchObject(at, w, got, part)
	case []any:
		return matchList(at, w, got, part)
	case string:
		return matchText(at, w, got)
	case json.Number:
		if g, ok := got.(json.Number); !ok || g.String() != w.String() {
			return fmt.Sprintf("%s: want the number %s, got %s", at, w, show(got))
		}
	default: // true, false, null
		if want != got {
			return fmt.Sprintf("%s: want %s, got %s", at, show(want), show(got))
		}
	}
	return ""
}

func matchObject(at string, want map[string]any, got any, part bool) string {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: want an object, got %s", at, show(got))
	}
	left := map[string]bool{}
	for key := range g {
		left[key] = true
	}
	for key, w := range want {
		if key == more {
			clear(left)
			continue
		}
		found, value := member(g, key)
		if w == absent {
			if found != "" {
				return fmt.Sprintf("%s: %q should be absent in %s", at, key, show(got))
			}
			continue
		}
		if found == "" {
			return fmt.Sprintf("%s: %q is missing in %s", at, key, show(got))
		}
		delete(left, found)
		if diff := match(at+"."+key, w, value, part); diff != "" {
			return diff
		}
	}
	if !part {
		for key := range left {
			return fmt.Sprintf("%s: %q was not expected: %s", at, key, show(g[key]))
		}
	}
	return ""
}

// member returns the name and the value of the member with the name key. If key contains placeholders, such
// as "@<any>", it returns a member whose name has this form. It returns "" and nil if there is none.
func member(g map[string]any, key string) (string, any) {
	if v, ok := g[key]; ok {
		return key, v
	}
	if strings.Contains(key, "<") {
		for name, v := range g {
			if pattern(key).MatchString(name) {
				return name, v
			}
		}
	}
	return "", nil
}

func matchList(at string, want []any, got any, part bool) string {
	g, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%s: want a list, got %s", at, show(got))
	}
	goesOn := len(want) > 0 && want[len(want)-1] == more
	if goesOn {
		want = want[:len(want)-1]
	}
	if len(g) < len(want) || len(g) > len(want) && !goesOn {
		return fmt.Sprintf("%s: want %d elements, got %d: %s", at, len(want), len(g), show(got))
	}
	for i, w := range want {
		if diff := match(fmt.Sprintf("%s[%d]", at, i), w, g[i], part); diff != "" {
			return diff
		}
	}
	return ""
}

func matchText(at, want string, got any) string {
	if want == "<any>" {
		return ""
	}
	if _, ok := got.(json.Number); ok && want == "<number>" {
		return ""
	}
	g, ok := got.(string)
	if !ok || !textMatches(want, g) {
		return fmt.Sprintf("%s: want %s, got %s", at, show(want), show(got))
	}
	return ""
}

// textMatches reports whether the text got matches the text want, which may contain placeholders.
func textMatches(want, got string) bool {
	return want == got || strings.Contains(want, "<") && pattern(want).MatchString(got)
}

func pattern(want string) *regexp.Regexp {
	p := regexp.QuoteMeta(want)
	for _, f := range forms {
		p = strings.ReplaceAll(p, f.word, f.form)
	}
	return regexp.MustCompile("^" + p + "$")
}

// decode decodes JSON. Numbers keep the form in which they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// show returns a value as JSON in one line. It cuts long values.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 600 {
		return string(b[:600]) + "..."
	}
	return string(b)
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		what, want, got string
		part, ok        bool
	}{
		{"equal", `{"a":1}`, `{"a":1}`, false, true},
		{"numbers keep their spelling", `{"a":1}`, `{"a":1.0}`, false, false},
		{"a number is no string", `{"a":"1"}`, `{"a":1}`, false, false},
		{"more members than the whole", `{"a":1}`, `{"a":1,"b":2}`, false, false},
		{"more members than a part", `{"a":1}`, `{"a":1,"b":2}`, true, true},
		{"a missing member", `{"a":1,"b":null}`, `{"a":1}`, true, false},
		{"a member that must be absent", `{"a":"<absent>"}`, `{"b":1}`, true, true},
		{"a member that is there and must not", `{"a":"<absent>"}`, `{"a":1}`, true, false},
		{"a longer list", `[1]`, `[1,2]`, true, false},
		{"a list that may go on", `[1,"<rest>"]`, `[1,2]`, true, true},
		{"members that may go on", `{"a":1,"<rest>":"<any>"}`, `{"a":1,"b":2}`, false, true},
		{"a form", `"Story:<id>"`, `"Story:1234"`, false, true},
		{"not of the form", `"Story:<id>"`, `"Story:x"`, false, false},
		{"a form as a name", `{"@<uuid>":1}`, `{"@0f8fad5b-d9cb-469f-a165-70867728950e":1}`, false, true},
		{"any value", `{"a":"<any>"}`, `{"a":{"b":[]}}`, false, true},
		{"seven digits", `"<time>"`, `"2017-09-06T15:06:26.7530000Z"`, false, true},
	} {
		want, err := decode([]byte(c.want))
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode([]byte(c.got))
		if err != nil {
			t.Fatal(err)
		}
		if diff := match("$", want, got, c.part); (diff == "") != c.ok {
			t.Errorf("%s: %q", c.what, diff)
		}
	}
}
