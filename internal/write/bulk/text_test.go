package bulk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
)

// A query returns a text exactly as it was written, byte for byte. The test uses attributes that
// have their own column, and attributes that have none.
func TestTextComesBackUnaltered(t *testing.T) {
	texts := []string{
		"trailing spaces  ", "  leading", "a\r\nb\nc\rd", "tab\there", `quotes ' " and \ backslash \n`, "nul\x00inside", "\x01\x1f\x7f",
		"emoji 😀 and 𝔘", "combining e\u0301", "\u2028\u2029\ufeff", "<script>&amp;</script>", "{html}<p>x</p>{html}", "100% $1 ${x}",
		strings.Repeat("ü", 4000), "null", "@nobody", "Story:1", "%_|?", "\u00a0", "",
	}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		e := engine(t, d)
		for _, attr := range []string{"Description", "Benefits", "Reference"} {
			commands := []any{}
			for _, text := range texts {
				commands = append(commands, map[string]any{"AssetType": "Story", "Name": attr, "Scope": "Scope:0", attr: text})
			}
			commands = append(commands, map[string]any{"from": "Story", "where": map[string]any{"Name": attr}, "select": []string{attr}})
			body, err := json.Marshal(commands)
			if err != nil {
				t.Fatal(err)
			}
			out, err := e.Run(t.Context(), auth.System, bulk.Request{Body: body})
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				QueryResult struct{ Results [][]map[string]any }
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			rows := got.QueryResult.Results[0]
			if len(rows) != len(texts) {
				t.Fatalf("%d rows for %d texts: %s", len(rows), len(texts), out)
			}
			for i, text := range texts {
				if rows[i][attr] != text {
					t.Errorf("%s: wrote %q, read %q", attr, text, rows[i][attr])
				}
			}
		}
	})
}

// BenchmarkRun measures one request with 10,000 creates, from the JSON to the answer.
func BenchmarkRun(b *testing.B) {
	e := engine(b, testdb.MySQL(b))
	one := `{"AssetType":"Story","Name":"As a user I want to see my orders","Scope":"Scope:0","Description":"So that I know what comes","Estimate":3,"Owners":["Member:20"]}`
	body := []byte("[" + strings.Repeat(one+",", 9_999) + one + "]")
	for b.Loop() {
		if _, err := e.Run(b.Context(), auth.System, bulk.Request{Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}
