package app

import "testing"

func TestFourNumbers(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                                    "1.2.3.0",
		"v1.2.3-rc.1":                               "1.2.3.0",
		"v1.2.3+dirty":                              "1.2.3.0",
		"v0.0.0-20261122195829-c129ddd40dd1":        "0.0.0.20261122",
		"v1.2.4-0.20261122195829-c129ddd40dd1":      "1.2.4.20261122",
		"v1.2.4-rc.1.0.20261122195829-c129ddd40dd1": "1.2.4.20261122",
		"(devel)":                                   "0.0.0.0",
		"unknown":                                   "0.0.0.0",
		"":                                          "0.0.0.0",
	} {
		if got := fourNumbers(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}
