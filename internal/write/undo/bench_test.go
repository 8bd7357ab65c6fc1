package undo_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/seed"
	"github.com/alds-dev/alds/internal/write/undo"
)

var changes = flag.Int("undo.changes", 10_000, "stories that BenchmarkUndo changes with one request")

// BenchmarkUndo updates stories with one request and takes the update back. It reports the time of
// each in milliseconds, and their ratio.
func BenchmarkUndo(b *testing.B) {
	for _, dialect := range []string{"sqlite", "mysql"} {
		b.Run(dialect, func(b *testing.B) {
			d := testdb.SQLite(b)
			if dialect == "mysql" {
				d = testdb.MySQL(b)
			}
			benchmark(b, d)
		})
	}
}

func benchmark(b *testing.B, d *db.DB) {
	m := meta.Default()
	if err := seed.Run(b.Context(), d, m); err != nil {
		b.Fatal(err)
	}
	assets := asset.New(d, m, nil, nil, nil)
	w, u := bulk.New(assets, find.New(d, m)), undo.New(assets)
	run := func(body string) []byte {
		answer, err := w.Run(b.Context(), auth.System, bulk.Request{Body: []byte(body)})
		if err != nil || !strings.Contains(string(answer), `"commandFailures":{"commands":[],"count":0}`) {
			b.Fatalf("%v: %.300s", err, answer)
		}
		return answer
	}
	one := `{"AssetType":"Story","Name":"A story of the backlog","Scope":"Scope:0","Description":"` + strings.Repeat("Some words. ", 30) + `"}`
	run("[" + strings.TrimSuffix(strings.Repeat(one+",", *changes), ",") + "]")
	var updates, undos time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		answer := run(fmt.Sprintf(`{"from":"Story","update":{"Estimate":%d,"Reference":"r%d"}}`, n+1, n))
		updates += time.Since(began)
		_, rest, _ := strings.Cut(string(answer), `"requestId":"`)
		id, _, _ := strings.Cut(rest, `"`)
		began = time.Now()
		answer, undone, err := u.Run(b.Context(), auth.System, undo.Request{Body: []byte(`{"requestId":"` + id + `"}`)})
		undos += time.Since(began)
		if err != nil || !undone {
			b.Fatalf("%v: %.300s", err, answer)
		}
	}
	b.ReportMetric(float64(updates.Milliseconds())/float64(b.N), "update-ms")
	b.ReportMetric(float64(undos.Milliseconds())/float64(b.N), "undo-ms")
	b.ReportMetric(float64(undos)/float64(updates), "undo/update")
	b.ReportMetric(0, "ns/op")
}
