package app

import "testing"

func TestVersionsOfFourNumbers(t *testing.T) {
	for version, want := range map[string]string{
		"0.2.0":                             "0.2.0.0",
		"0.2.0+20261122.c129ddd40dd1":       "0.2.0.20261122",
		"0.2.0+20261122.c129ddd40dd1.dirty": "0.2.0.20261122",
	} {
		if got := fourNumbers(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
