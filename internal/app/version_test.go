package app

import (
	"testing"

	"github.com/alds-dev/alds/internal/release"
)

func TestVersions(t *testing.T) {
	for module, want := range map[string]struct{ version, four string }{
		"v0.0.0-20261122195829-c129ddd40dd1":        {"+20261122.c129ddd40dd1", ".20261122"},
		"v0.0.0-20261122195829-c129ddd40dd1+dirty":  {"+20261122.c129ddd40dd1.dirty", ".20261122"},
		"v1.2.4-0.20261122195829-c129ddd40dd1":      {"+20261122.c129ddd40dd1", ".20261122"},
		"v1.2.4-rc.1.0.20261122195829-c129ddd40dd1": {"+20261122.c129ddd40dd1", ".20261122"},
		"v" + release.Number:                        {"", ".0"},
		"v" + release.Number + "+dirty":             {"", ".0"},
		"(devel)":                                   {"", ".0"},
		"":                                          {"", ".0"},
	} {
		got := versionOf(module)
		if got != release.Number+want.version || fourNumbers(got) != release.Number+want.four {
			t.Errorf("%s: %s and %s", module, got, fourNumbers(got))
		}
		if release.Rank(got) != release.Rank(release.Number) {
			t.Errorf("%s is of another release", got)
		}
	}
}
