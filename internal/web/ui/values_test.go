package ui

import "testing"

func TestIsOid(t *testing.T) {
	for text, want := range map[string]bool{
		"Member:20": true, "Member:-20": true, "Member:20:5": false, "Scope:0": false, "Member:": false, "Member:20'": false, "": false, "member:20": false,
	} {
		if got := IsOid(text, "Member"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
