package collation_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/store/collation"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var update = flag.Bool("update", false, "rewrite weights.gz from the server")

// TestWeightsAreTheServers compares the weights of every character up to U+FFFF with those of the
// server, which are the same on MariaDB and MySQL.
func TestWeightsAreTheServers(t *testing.T) {
	d := testdb.MySQL(t)
	rows, err := d.Query(context.Background(), `WITH RECURSIVE b(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM b WHERE n < 255)
		SELECT n, HEX(WEIGHT_STRING(CONVERT(CHAR(n USING utf32) USING utf8mb4) COLLATE utf8mb4_unicode_ci))
		FROM (SELECT high.n * 256 + low.n AS n FROM b high JOIN b low) plane
		WHERE n NOT BETWEEN 0xD800 AND 0xDFFF ORDER BY n`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	differ, last := 0, rune(-1)
	var file []byte
	for rows.Next() {
		var r rune
		var text string
		if err := rows.Scan(&r, &text); err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, w := range collation.Weight(r) {
			got = binary.BigEndian.AppendUint16(got, w)
		}
		if !bytes.Equal(got, want) {
			if differ++; differ < 10 {
				t.Errorf("U+%04X: %x, the server has %x", r, got, want)
			}
		}
		file = binary.AppendUvarint(file, uint64(r-last))
		file = binary.AppendUvarint(file, uint64(len(want)/2))
		file, last = append(file, want...), r
	}
	if err := rows.Err(); err != nil || last != 0xFFFF {
		t.Fatalf("last U+%04X, %v", last, err)
	}
	if *update && differ > 0 {
		writeWeights(t, file)
	}
}

func writeWeights(t *testing.T, data []byte) {
	t.Helper()
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	_, _ = w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("weights.gz", b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// pairs are texts that are compared with each other in both directions, on a server and in SQLite.
var pairs = [][2]string{
	{"a", "A"},
	{"a", "b"},
	{"a", "ä"},
	{"resume", "Résumé"},
	{"ß", "ss"},
	{"Æ", "ae"},
	{"œ", "oe"},
	{"ø", "o"},
	{"ł", "l"},
	{"đ", "d"},
	{"a", "a "},
	{"a", "a  \u00a0"},
	{"a ", "a\t"},
	{"a", "a\x01"},
	{"a\x01", "a\x02"},
	{"", " "},
	{"", "a"},
	{"a b", "ab"},
	{"a-b", "ab"},
	{"a.b", "a,b"},
	{"😀", "😁"},
	{"😀", "a"},
	{"😀", ""},
	{"𝐀", "😀"},
	{"\ufffd", "😀"},
	{"!", "?"},
	{"§", "$"},
	{"1", "２"},
	{"2", "²"},
	{"10", "9"},
	{"½", "1/2"},
	{"中", "丁"},
	{"一", "丁"},
	{"가", "각"},
	{"か", "が"},
	{"カ", "か"},
	{"ﬁ", "fi"},
	{"й", "и"},
	{"ё", "е"},
	{"İ", "i"},
	{"ı", "i"},
	{"Σ", "ς"},
	{"α", "ά"},
	{"e\u0301", "é"},
	{"\u0301", ""},
	{"a\u200bb", "ab"},
	{"S-1001", "s-1001"},
	{"Z", "a"},
	{"z", "é"},
	{"_", "a"},
	{"a_b", "aXb"},
	{"100%", "100"},
	{"\u00ad", ""},
	{"\u3400", "\u4e00"},
	{"\uac00", "\u9fa5"},
	{"\u9fff", "\u9fa5"},
	{"ש", "שׁ"},
	{"ا", "أ"},
	{"ำ", "ํา"},
	{"٣", "3"},
	{"Ⅷ", "VIII"},
}

// likes are pairs of a text and a pattern.
var likes = [][2]string{
	{"Résumé", "resu%"},
	{"abc", "_B_"},
	{"abc", "%d%"},
	{"ß", "ss"},
	{"ß", "_"},
	{"Æ", "a_"},
	{"a ", "a"},
	{"a", "a "},
	{"😀", "_"},
	{"😀", "😁"},
	{"😀", "😀"},
	{"a%b", `a\%b`},
	{"axb", `a\%b`},
	{"a_b", `a\_b`},
	{"axb", `a\_b`},
	{`a\b`, `a\\b`},
	{`a\`, `a\`},
	{"ab", `a\b`},
	{"", "%"},
	{"", ""},
	{"a", ""},
	{"", "_"},
	{"aaab", "%a%ab"},
	{"mississippi", "%iss%ippi"},
	{"mississippi", "m%i%i%i%x"},
	{"e\u0301", "é"},
	{"e\u0301", "e_"},
	{"é", "E"},
	{"か", "が"},
	{"ﬁ", "fi"},
	{"ﬁ", "ﬁ"},
	{"中", "丁"},
	{"中", "中"},
	{"a\x01", "a"},
	{"\x01", "\x02"},
	{"\u0301", "\u0300"},
	{"Ⅷ", "ⅷ"},
	{"ǆ", "Ǆ"},
	{"line\nbreak", "line%break"},
	{"100%", "100%"},
	{"½", "½"},
	{"\ufffd", "😀"},
	{"가", "각"},
	{"가", "가"},
	{"ﷺ", "ﷺ"},
}

// answers stores pairs and likes in text columns of a database. It returns the results of comparing
// them there.
func answers(t *testing.T, d *db.DB) []string {
	t.Helper()
	ctx := context.Background()
	n := int64(0)
	store := func(a, b string) int64 {
		n++
		for i, s := range []string{a, b} {
			_, err := d.Exec(ctx, "INSERT INTO access_token (id, member_id, name, token_hash, created_at) VALUES (?, ?, ?, ?, 0)",
				fmt.Sprintf("%d-%d", n, i), n, s, fmt.Sprintf("%d-%d", n, i))
			if err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	ask := func(op string, id int64) (yes int64) {
		q := "SELECT COUNT(*) FROM access_token x, access_token y WHERE x.id = ? AND y.id = ? AND x.name " + op + " y.name"
		if err := d.QueryRow(ctx, q, fmt.Sprintf("%d-0", id), fmt.Sprintf("%d-1", id)).Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	var got []string
	for _, p := range pairs {
		id := store(p[0], p[1])
		got = append(got, fmt.Sprintf("%q ? %q: = %d, < %d, > %d", p[0], p[1], ask("=", id), ask("<", id), ask(">", id)))
	}
	like := map[string]string{"mysql": "name COLLATE utf8mb4_bin LIKE ? ESCAPE %s", "sqlite": "alds_like(?, name, %s)"}[d.Dialect.Name]
	backslash := map[string]string{"mysql": `'\\'`, "sqlite": `'\'`}[d.Dialect.Name]
	for _, p := range likes {
		id := store(p[0], p[1])
		matches := func(escape string) (n int64) {
			q := "SELECT COUNT(*) FROM access_token WHERE id = ? AND " + fmt.Sprintf(like, escape)
			if err := d.QueryRow(ctx, q, fmt.Sprintf("%d-0", id), p[1]).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		plain, escaped := matches(backslash), matches("'|'")
		got = append(got, fmt.Sprintf("%q LIKE %q: %d, ESCAPE '|' %d", p[0], p[1], plain, escaped))
	}
	return got
}

// TestServersCompareAlike checks that SQLite compares texts as the server does.
func TestServersCompareAlike(t *testing.T) {
	want, got := answers(t, testdb.MySQL(t)), answers(t, testdb.SQLite(t))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("\nmysql  %s\nsqlite %s", want[i], got[i])
		}
	}
}

func TestServersSortAlike(t *testing.T) {
	var orders [2][]string
	for i, d := range []*db.DB{testdb.MySQL(t), testdb.SQLite(t)} {
		answers(t, d)
		var err error
		orders[i], err = db.Column[string](context.Background(), d, "SELECT name FROM access_token ORDER BY name, id")
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range orders[0] {
		if orders[0][i] != orders[1][i] {
			t.Fatalf("place %d: mysql %q, sqlite %q", i, orders[0][i], orders[1][i])
		}
	}
}

func BenchmarkCompare(b *testing.B) {
	for name, p := range map[string][2]string{
		"ascii": {"Story number 1234 of the load", "story NUMBER 1234 of the LOAD"},
		"other": {"Größe der Änderung", "grösse DER änderung"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				collation.Compare(p[0], p[1])
			}
		})
	}
}

// TestASCIIHasOnePlace checks that a character which is equal to an ASCII character has the same
// place in the order. So an index in this order finds all texts that are equal to an ASCII text.
func TestASCIIHasOnePlace(t *testing.T) {
	for r := range rune(unicode.MaxRune + 1) {
		f := folding.Of(string(r))
		if utf8.ValidRune(r) && len(f) == 1 && !slices.Equal(collation.Weight(r), collation.Weight(rune(f[0]))) {
			t.Errorf("%U is equal to %q, but has another place in the order", r, f)
		}
	}
}
