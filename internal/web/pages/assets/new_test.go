package assets

import (
	"fmt"
	"testing"
)

// TestReadLine checks how a line that adds a part is read. Owners and hours are at its end, in any order.
func TestReadLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Choose a provider":             "Choose a provider [] ",
		"Choose a provider @anna 4h":    "Choose a provider [anna] 4",
		"Choose a provider 0,5h @anna":  "Choose a provider [anna] 0.5",
		"Tell @anna what 4h are":        "Tell @anna what 4h are [] ",
		"Two of them @bo @anna":         "Two of them [anna bo] ",
		"  spaces   between  1.25h  ":   "spaces between [] 1.25",
		"Wait 4h 2h":                    "Wait 4h [] 2",
		"@anna 4h":                      " [anna] 4",
		"":                              " [] ",
		"Mail to anna@example.org @":    "Mail to anna@example.org @ [] ",
		"123456h is no number of hours": "123456h is no number of hours [] ",
	} {
		name, called, hours := readLine(line, true)
		if got := fmt.Sprintf("%s %v %s", name, called, hours); got != want {
			t.Errorf("%q is read as %q, want %q", line, got, want)
		}
	}
}

// TestLocalPath checks that a form leads only to pages of this site.
func TestLocalPath(t *testing.T) {
	t.Parallel()
	for text, allowed := range map[string]bool{
		"/ui/project/Scope:1?add=1": true, "": false, "ui/": false, "//evil.example/": false, "/\\evil.example": false, "https://evil.example/": false,
		"/ui/\r\nx": false, "javascript:alert(1)": false,
	} {
		if got := localPath(text); (got == text) != (allowed || text == "") || got != "" && got != text {
			t.Errorf("%q leads to %q", text, got)
		}
	}
}

// TestBeginnings checks which names may follow an @.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"anna": "[anna]", "Anna Berg is here": "[Anna Berg is Anna Berg Anna]", "bo. And": "[bo. And bo. bo]",
	} {
		if got := fmt.Sprint(beginnings(text)); got != want {
			t.Errorf("%q has the names %s, want %s", text, got, want)
		}
	}
}

// TestMatched checks whom a text calls: everybody who has the longest name that anybody has.
func TestMatched(t *testing.T) {
	t.Parallel()
	members := []called{
		{"Member:1", "Anna Berg", "Anna", "anna"}, {"Member:2", "Anna Thal", "Anna", "thal"}, {"Member:3", "Bo", "", "bo"}, {"Member:4", "Bo", "", "bo2"},
	}
	for text, want := range map[string]string{
		"@anna berg knows": "[[Member:1]]", "@Anna": "[[Member:1 Member:2]]", "@thal @bo": "[[Member:2] [Member:3 Member:4]]", "@thal, (@bo2)": "[[Member:2] [Member:4]]",
		"@nobody": "[[]]", "anna@bo": "[]", "@thal.": "[[Member:2]]", "@thal's": "[[]]",
	} {
		got := [][]string{}
		for _, m := range calls.FindAllStringSubmatch(text, maxCalled) {
			got = append(got, matched(beginnings(m[1]), members))
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%q calls %v, want %s", text, got, want)
		}
	}
}
