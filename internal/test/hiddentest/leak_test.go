package hiddentest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// mostToFind is the number of requests of one kind among which at least one must show the leak.
const mostToFind = 400

// withoutAssets is the kind of request whose replies do not depend on assets. Such requests cannot show a
// leak.
const withoutAssets = "what is not for members"

// TestEveryKindFindsALeak tests the test itself. It gives the callers a role with which they can read a
// hidden project. The services then look different to them. Requests of every kind must soon show a
// difference. With -short, it tries only some kinds.
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
			p = nil // a new pair is needed, because the services have written different data
		}
	}
}

// findLeak sends requests of a kind until the replies of the services differ. It returns the request with
// different replies, or nil if it finds none.
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

// TestBlankHidesNoLeak checks that blank replaces only values that do not come from assets.
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
