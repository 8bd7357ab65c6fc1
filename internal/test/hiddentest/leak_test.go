package hiddentest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// mostToFind is how many requests of a kind are enough to find a leak that each
// kind shows.
const mostToFind = 400

// withoutAssets is the kind whose answers depend on no asset.
const withoutAssets = "what is not for members"

// TestEveryKindFindsALeak: with one more role, which lets the callers read a
// hidden project, every kind of request is answered in two ways before long. With -short
// some kinds are tried.
func TestEveryKindFindsALeak(t *testing.T) {
	seed := seedOf(t)
	some := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.name == withoutAssets })
	if testing.Short() {
		r := rand.New(rand.NewPCG(seed, 2))
		r.Shuffle(len(some), func(i, k int) { some[i], some[k] = some[k], some[i] })
		some = some[:4]
	}
	var p *pair
	for _, k := range some {
		if p == nil {
			p = startPair(t, "sqlite", "Role:8", seed)
		}
		found := p.findLeak(k)
		switch {
		case found == nil:
			t.Errorf("%s: %d requests found no leak", k.name, mostToFind)
		case p.services[0].sequences(t)["moment"] != p.services[1].sequences(t)["moment"]:
			p = nil // one has written what the other has not
		}
	}
}

// findLeak sends requests of a kind until one is answered in two ways; nil when none
// is.
func (p *pair) findLeak(k kind) *request {
	p.t.Helper()
	for n := range mostToFind {
		if bad := p.once(p.g.of(k)); bad != nil {
			p.t.Logf("%s: request %d", k.name, n+1)
			return bad
		}
	}
	return nil
}

// TestBlankHidesNoLeak: what is left out of the comparison is what no asset is.
func TestBlankHidesNoLeak(t *testing.T) {
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000")
	for text, want := range map[string]string{
		`"requestId":"0c4f2c1e-7f3a-4a3e-9d53-1c2f6d6a7b11"`:                        `"requestId":"<uuid>"`,
		`{"@0c4f2c1e-7f3a-4a3e-9d53-1c2f6d6a7b11$auto-aliased":{}}`:                 `{"@<uuid>$auto-aliased":{}}`,
		`"ChangeDate":"` + now + `"`:                                                `"ChangeDate":"<now>"`,
		`"duration":"00:00:00.0012345","durationSeconds":0.0012345`:                 `<duration>`,
		`"CreateDate":"2010-11-12T01:02:03.004"`:                                    "",
		`"CreateDate":null`:                                                         "",
		`[[{"_oid":"Story:1042:1265","Order":"16777248","Number":"S-01042"}]]`:      "",
		`"Date":"2026-02-03","Estimate":"12.5","EndDate":"2026-02-15T00:00:00.000"`: "",
		`"error":"Invalid OID token: Story:1042"`:                                   "",
	} {
		if want == "" {
			want = text
		}
		if got := blank(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
