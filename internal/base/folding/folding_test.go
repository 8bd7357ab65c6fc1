package folding

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/alds-dev/alds/internal/test/testseed"
)

var pairs = []struct {
	a, b  string
	equal bool
}{
	{"", "", true},
	{"a", "A", true},
	{"Größe", "GRÖSSE", false},
	{"Größe", "GRÖßE", true},
	{"ß", "ẞ", true},
	{"ß", "ss", false},
	{"é", "e\u0301", true},
	{"É", "e\u0301", true},
	{"é", "e", false},
	{"\u212a", "k", true},      // Kelvin
	{"\u212b", "\u00e5", true}, // Ångström
	{"ſ", "S", true},
	{"Σ", "ς", true},
	{"σ", "ς", true},
	{"µ", "Μ", true},
	{"ﬁ", "fi", false},
	{"か", "が", false},
	{"か\u3099", "が", true},
	{"カ", "か", false},
	{"한", "\u1112\u1161\u11ab", true},
	{"a\u200b", "a", false},
	{"a ", "a", false},
	{"", " ", false},
	{"😀", "😁", false},
	{"🍎 x", "🍌 x", false},
	{"𐐀", "𐐨", true}, // Deseret
	{"Ა", "ა", true}, // Georgian
	{"Ꭰ", "ꭰ", true}, // Cherokee
	{"ᏸ", "Ᏸ", true},
	{"İ", "i", false},
	{"ı", "I", false},
	{"ǅ", "ǆ", true},
	{"\u0345", "\u03b9", true},
	{"\u037e", ";", true},
	{"\u0323s", "s\u0323", false},
	{"a\u0323\u0302", "a\u0302\u0323", true},
	{"ſ\u0323", "s\u0323", false}, // the NFC form of the second is one character, ṣ
	{"a" + strings.Repeat("\u0301", 40), "á" + strings.Repeat("\u0301", 39), true},
	{"a" + strings.Repeat("\u0301", 30) + joiner + "\u0301", "a" + strings.Repeat("\u0301", 31), false},
	{"a" + strings.Repeat("\u0302", 31) + "\u0323", "ậ" + strings.Repeat("\u0302", 30), true},
}

func TestEqual(t *testing.T) {
	for _, p := range pairs {
		if Equal(p.a, p.b) != p.equal || Equal(p.b, p.a) != p.equal {
			t.Errorf("%+q and %+q: equal is %v", p.a, p.b, !p.equal)
		}
		if (strings.EqualFold(norm.NFC.String(p.a), norm.NFC.String(p.b)) != p.equal) && utf8.RuneCountInString(p.a) < 30 {
			t.Errorf("%+q and %+q: the library says otherwise", p.a, p.b)
		}
		if Is(p.a, Of(p.b)) != p.equal {
			t.Errorf("%+q is %+q: %v", p.a, Of(p.b), !p.equal)
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct {
		s, part string
		want    bool
	}{
		{"Straße", "RAßE", true},
		{"Straße", "ASS", false},
		{"Re\u0301sume\u0301", "RÉS", true},
		{"Résumé", "res", false},
		{"é", "\u0301", false},
		{"x 😀", "😁", false},
		{"abc", "", true},
	} {
		if Contains(c.s, c.part) != c.want {
			t.Errorf("%q contains %q: %v", c.s, c.part, !c.want)
		}
	}
}

// TestEveryCharacter checks that the representative of a character is one of its cases, and that
// all cases have the same representative. Only NUL becomes another character, U+FFFD.
func TestEveryCharacter(t *testing.T) {
	if got := Of("a\x00B"); got != "a\ufffdb" || IsPlain("a\x00B") || IsPlain("ä\x00") {
		t.Errorf("NUL is folded to %+q, or plain", got)
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		to, found := foldRune(r), false
		o := r
		for {
			found = found || o == to
			if foldRune(o) != to {
				t.Errorf("%U is folded to %U, its case %U to %U", r, to, o, foldRune(o))
			}
			if o = unicode.SimpleFold(o); o == r {
				break
			}
		}
		if !found {
			t.Errorf("%U is folded to %U, which is another character", r, to)
		}
		if s := string(r); utf8.ValidString(s) && IsPlain(s) && Of(s) != asciiLower(s) {
			t.Errorf("%U is plain and folded to %+q", r, Of(s))
		}
		if r < utf8.RuneSelf && to != rune(lower(byte(r))) {
			t.Errorf("%q is folded to %q", r, to)
		}
	}
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// TestAgainstTheLibrary compares random texts, and variants in other cases and forms, with
// the result of strings.EqualFold for their NFC forms.
func TestAgainstTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.New(t), 1))
	for range 200_000 {
		a := random(r)
		b := a
		switch r.IntN(5) {
		case 0:
			b = norm.NFD.String(a)
		case 1:
			b = otherCase(r, a)
		case 2:
			b = norm.NFC.String(otherCase(r, norm.NFD.String(a)))
		case 3:
			b = a + " "
		case 4:
			b = random(r)
		}
		want := strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b))
		if Equal(a, b) != want {
			t.Fatalf("%+q and %+q: want equal %v", a, b, want)
		}
		if IsPlain(a) && Of(a) != asciiLower(a) {
			t.Fatalf("%+q is plain and folded to %+q", a, Of(a))
		}
		cased := strings.ContainsFunc(a, func(r rune) bool { return r >= utf8.RuneSelf && (foldRune(r) != r || unicode.ToLower(r) != r) })
		if want := norm.NFC.IsNormalString(a) && !cased; IsPlain(a) != want {
			t.Fatalf("%+q is plain: %v, want %v", a, IsPlain(a), want)
		}
		if got := string(compose(decompose(a))); got != norm.NFC.String(a) {
			t.Fatalf("%+q composed is %+q, the library has %+q", a, got, norm.NFC.String(a))
		}
	}
}

// blocks are the ranges of random characters. Marks are frequent.
var blocks = [][2]rune{
	{0x20, 0x7e},
	{0x20, 0x7e},
	{0xa0, 0x24f},
	{0x300, 0x36f},
	{0x300, 0x36f},
	{0x370, 0x3ff},
	{0x400, 0x52f},
	{0x10a0, 0x10ff},
	{0x1100, 0x11ff},
	{0x13a0, 0x13ff},
	{0x1c80, 0x1cbf},
	{0x1e00, 0x1fff},
	{0x2000, 0x214f},
	{0x3040, 0x30ff},
	{0xa640, 0xa69f},
	{0xab70, 0xabbf},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfb00, 0xfb4f},
	{0x10400, 0x1044f},
	{0x1d15e, 0x1d164},
	{0x1e900, 0x1e943},
	{0x1f600, 0x1f64f},
}

func random(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(8) {
		at := blocks[r.IntN(len(blocks))]
		b.WriteRune(at[0] + r.Int32N(at[1]-at[0]+1))
	}
	return b.String()
}

func otherCase(r *rand.Rand, s string) string {
	return strings.Map(func(c rune) rune {
		for range r.IntN(4) {
			c = unicode.SimpleFold(c)
		}
		return c
	}, s)
}

func TestBytesThatAreNoText(t *testing.T) {
	for _, s := range []string{"\xff", "a\xc3", "\xed\xa0\x80", "é\x80"} {
		if Of(s) == "" || IsPlain(s) || !utf8.ValidString(Of(s)) {
			t.Errorf("%q: folded to %q", s, Of(s))
		}
	}
}

func TestPlainTextIsJudgedWithoutCopies(t *testing.T) {
	for _, s := range []string{"Story number 1234", "größe", "日本語"} {
		if n := testing.AllocsPerRun(100, func() { IsPlain(s) }); n > 0 || !IsPlain(s) {
			t.Errorf("%q: %v allocations, plain %v", s, n, IsPlain(s))
		}
	}
}

func BenchmarkIsPlain(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":    strings.Repeat("Story number 1234 of the load ", 33),
		"german":   strings.Repeat("Die größe der änderung, ", 40),
		"japanese": strings.Repeat("日本語の物語 ", 50),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				IsPlain(s)
			}
		})
	}
}
