package hiddentest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// mostToFind is the number of requests of one kind within which the test must find a leak.
const mostToFind = 400

// withoutAssets is the kind whose replies depend on no asset. It cannot find a leak.
const withoutAssets = "what is not for members"

// TestEveryKindFindsALeak gives the callers a role with which they can read a hidden project. The
// two services then differ for them, and requests of every kind must find this soon. With -short,
// only some kinds are tried.
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
			p = nil // the services have written different data
		}
	}
}

// findLeak sends requests of a kind until the replies differ. It returns that request, or nil if
// there is none.
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

// TestBlankHidesNoLeak checks that blank removes only values that belong to no asset.
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
