package difftest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testseed"
	"github.com/alds-dev/alds/internal/write/bulk"
)

var pairsFlag = flag.Int("difftest.pairs", 6000, "how many pairs of texts to compare on each database")

// A family is a set of similar texts: random changes of three random texts. Each text is stored in every
// kind of place. Each family is queried with values that are random changes of its texts.
const (
	familyTexts  = 60
	familyValues = 50
)

// textPlaces has one attribute for each place in which a text can be stored: a column, a column for custom
// attributes, a key of the JSON column, and rows of another table.
var textPlaces = []string{"Name", "Custom_Motto", "Reference", "TaggedWith"}

// TestEqualTexts compares random texts by = and ~= on each database. The results must be those of package
// folding and of Go's Unicode packages.
//
//	go test ./internal/test/difftest -run TestEqualTexts -difftest.pairs 1000000 -seed 7
func TestEqualTexts(t *testing.T) {
	seed := testseed.New(t)
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		testseed.Print(t, seed)
		s := serve(t, d, grown())
		r := rand.New(rand.NewPCG(seed, 0))
		pairs, equal, within := 0, 0, 0
		for n := 1; pairs < *pairsFlag; n++ {
			f := s.family(t, r, n)
			for range familyValues {
				v := f.value(r)
				same, part := f.compare(t, s, v, textPlaces[r.IntN(len(textPlaces))])
				pairs, equal, within = pairs+len(f.texts), equal+same, within+part
				if t.Failed() {
					t.FailNow()
				}
			}
		}
		t.Logf("seed %d: %d pairs, %d equal, %d one in the other", seed, pairs, equal, within)
		if equal == 0 || within == equal || equal == pairs {
			t.Error("the pairs are all alike")
		}
	})
}

// family is a project with one story for each text. texts maps the Oid of a story to its text.
type family struct {
	scope string
	texts map[oid.OID]string
	all   []string
}

// family creates random texts and stores each of them in a story.
func (s *server) family(t *testing.T, r *rand.Rand, n int) *family {
	t.Helper()
	f := &family{texts: map[oid.OID]string{}}
	bases := []string{randomText(r), randomText(r), randomText(r)}
	commands := []map[string]any{{"@p": map[string]any{"AssetType": "Scope", "Name": fmt.Sprint("family ", n), "Parent": "Scope:0", "BeginDate": "2026-01-01"}}}
	for len(f.all) < familyTexts {
		text := mutated(r, bases[r.IntN(len(bases))])
		if text == "" {
			continue
		}
		f.all = append(f.all, text)
		commands = append(commands, map[string]any{"AssetType": "Story", "Scope": "@p", "Name": text, "Custom_Motto": text, "Reference": text, "TaggedWith": text})
	}
	body, err := json.Marshal(commands)
	must(err)
	answer, err := s.bulk.Run(context.Background(), auth.System, bulk.Request{Body: body})
	must(err)
	var got struct{ AssetsCreated struct{ OIDTokens []string } }
	must(json.Unmarshal(answer, &got))
	made := got.AssetsCreated.OIDTokens
	if len(made) != familyTexts+1 {
		t.Fatalf("%d of %d made: %s", len(made), familyTexts+1, answer)
	}
	f.scope = made[0]
	for i, token := range made[1:] {
		o, err := oid.Parse(token)
		must(err)
		f.texts[o] = f.all[i]
	}
	return f
}

// value returns a random text to query: a text of the family or a part of such a text, sometimes changed.
func (f *family) value(r *rand.Rand) string {
	for {
		v := f.all[r.IntN(len(f.all))]
		if runes := []rune(v); r.IntN(3) == 0 {
			from := r.IntN(len(runes))
			v = string(runes[from : from+1+r.IntN(len(runes)-from)])
		}
		if r.IntN(4) > 0 {
			v = mutated(r, v)
		}
		if v != "" {
			return v
		}
	}
}

// compare queries the stories whose attribute equals v, and those whose attribute contains v. It returns
// how many stories each of the two queries found.
func (f *family) compare(t *testing.T, s *server, v, attr string) (same, part int) {
	t.Helper()
	equal, within := f.ask(t, s, attr+"=$v", v), f.ask(t, s, attr+"~=$v", v)
	wild := strings.ContainsAny(v, "%*")
	for o, text := range f.texts {
		if rule, want := folding.Equal(text, v), alike(text, v); equal[o] != rule || rule != want {
			t.Errorf("%s of %+q = %+q: the database says %v, the rule %v, the library %v", attr, text, v, equal[o], rule, want)
		}
		if rule, want := folding.Contains(text, v), contains(text, v, true); within[o] != want || rule != want && !wild {
			t.Errorf("%s of %+q ~= %+q: the database says %v, the rule %v, the library %v", attr, text, v, within[o], rule, want)
		}
	}
	return len(equal), len(within)
}

func (f *family) ask(t *testing.T, s *server, filter, v string) map[oid.OID]bool {
	t.Helper()
	ids, err := s.finder.IDs(t.Context(), nil, auth.System, query.Request{
		From:   query.Text{Text: "Story"},
		Where:  []query.Pair{{Token: query.Text{Text: "Scope"}, Value: query.Text{Text: f.scope}}},
		Filter: []query.Text{{Text: filter}},
		With:   map[string][]string{"$v": {v}},
	})
	if err != nil {
		t.Fatalf("%s with %+q: %v", filter, v, err)
	}
	found := map[oid.OID]bool{}
	for _, o := range ids {
		found[o] = true
	}
	return found
}

// alphabets are the ranges from which random characters are chosen. Ranges of ASCII, of accents and of
// letters with case are chosen more often.
var alphabets = [][2]rune{
	{0x20, 0x7e},
	{0x20, 0x7e},
	{'a', 'z'},
	{'A', 'Z'},
	{0xa0, 0x24f},
	{0xc0, 0xff},
	{0x250, 0x2af},
	{0x300, 0x36f},
	{0x370, 0x3ff},
	{0x400, 0x52f},
	{0x531, 0x587},
	{0x5d0, 0x5ea},
	{0x621, 0x652},
	{0x900, 0x9ff},
	{0xe01, 0xe4d},
	{0x10a0, 0x10ff},
	{0x1100, 0x11ff},
	{0x13a0, 0x13fd},
	{0x1c80, 0x1cbf},
	{0x1e00, 0x1fff},
	{0x2000, 0x2064},
	{0x2100, 0x218f},
	{0x24b6, 0x24e9},
	{0x2c00, 0x2dff},
	{0x3040, 0x30ff},
	{0x4e00, 0x4fff},
	{0xa640, 0xa69f},
	{0xa720, 0xa7ff},
	{0xab30, 0xabbf},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfb00, 0xfb4f},
	{0xfe00, 0xfe0f},
	{0xff01, 0xffef},
	{0x10400, 0x104ff},
	{0x10c80, 0x10cff},
	{0x118a0, 0x118df},
	{0x16e40, 0x16e7f},
	{0x1d15e, 0x1d164},
	{0x1d400, 0x1d4ff},
	{0x1e900, 0x1e943},
	{0x1f300, 0x1f64f},
	{0x1f34c, 0x1f34e},
	{0x2f800, 0x2fa1d},
	{0x1, 0x10ffff},
}

func randomRune(r *rand.Rand) rune {
	for {
		at := alphabets[r.IntN(len(alphabets))]
		if c := at[0] + r.Int32N(at[1]-at[0]+1); utf8.ValidRune(c) {
			return c
		}
	}
}

func randomText(r *rand.Rand) string {
	runes := make([]rune, 1+r.IntN(6))
	for i := range runes {
		runes[i] = randomRune(r)
	}
	return string(runes)
}

// lookalikes are groups of texts that look alike or sort alike. Only some of them count as equal.
var lookalikes = [][]string{
	{"ß", "ss", "ẞ", "SS"},
	{"ﬁ", "fi", "FI"},
	{"Æ", "AE", "æ"},
	{"か", "が", "カ", "か\u3099"},
	{"é", "e", "e\u0301", "É"},
	{"😀", "😁", "🍎", "🍌"},
	{"K", "K", "k"},
	{"Å", "Å", "å", "a\u030a", "a"},
	{"Σ", "σ", "ς"},
	{"ſ", "s", "S"},
	{"i", "ı", "İ", "I", "i\u0307"},
	{"µ", "μ", "Μ"},
	{"Ა", "ა"},
	{"Ꭰ", "ꭰ"},
	{"𐐀", "𐐨"},
	{"한", "\u1112\u1161\u11ab", "하\u11ab"},
	{"½", "1/2"},
	{"２", "2", "²"},
	{"ǆ", "ǅ", "Ǆ", "dž"},
	{"\u037e", ";"},
	{"\u1fef", "`"},
	{"\u0345", "ι", "Ι", "\u1fbe"},
	{"ậ", "a\u0323\u0302", "a\u0302\u0323", "ạ\u0302"},
	{"a", "а", "ａ"},
}

// unseen are spaces, invisible characters and marks that are hard to see.
var unseen = []string{" ", "\u200b", "\u200d", "\u00ad", "\ufe0f", "\u0301", "\u0300", "\u034f", "\t", "\u00a0", "\u2060"}

// mutated returns the text with up to three random changes.
func mutated(r *rand.Rand, s string) string {
	for range r.IntN(4) {
		s = changed(r, s)
	}
	if runes := []rune(s); len(runes) > 24 {
		s = string(runes[:24])
	}
	return s
}

func changed(r *rand.Rand, s string) string {
	runes := []rune(s)
	at := r.IntN(len(runes) + 1)
	before, after := string(runes[:at]), string(runes[at:])
	switch r.IntN(12) {
	case 0, 1:
		return strings.Map(func(c rune) rune {
			for range r.IntN(3) {
				c = unicode.SimpleFold(c)
			}
			return c
		}, s)
	case 2:
		return norm.NFD.String(s)
	case 3:
		return norm.NFC.String(s)
	case 4:
		return before + norm.NFD.String(after)
	case 5:
		return strings.ToUpper(s)
	case 6:
		return before + unseen[r.IntN(len(unseen))] + after
	case 7:
		return s + " "
	case 8:
		return norm.NFKC.String(s)
	case 9:
		return before + string(randomRune(r)) + after
	case 10:
		return strings.Map(func(c rune) rune {
			if unicode.Is(unicode.Mn, c) {
				return -1
			}
			return c
		}, norm.NFD.String(s))
	}
	for _, list := range lookalikes {
		for _, one := range list {
			if strings.Contains(s, one) {
				return strings.Replace(s, one, list[r.IntN(len(list))], 1)
			}
		}
	}
	list := lookalikes[r.IntN(len(lookalikes))]
	return before + list[r.IntN(len(list))] + after
}

// TestTextsWithNUL checks that a NUL character does not end a text or a pattern.
func TestTextsWithNUL(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		s := serve(t, d, meta.Default())
		created, failure := create(t, s, `{"AssetType": "Story", "Name": "Some\u0000Thing", "Scope": "Scope:0"}`)
		if failure != "" {
			t.Fatal(failure)
		}
		story, err := oid.Parse(created)
		if err != nil {
			t.Fatal(err)
		}
		f := &family{scope: "Scope:0"}
		for pattern, want := range map[string]bool{"thing": true, "SOME%": true, "%thing": true, "s%g": true, "e\x00t": true, "e\x00x": false, "thing%": false} {
			if got := f.ask(t, s, "Name~=$v", pattern)[story]; got != want {
				t.Errorf("%q: %v", pattern, got)
			}
		}
	})
}
