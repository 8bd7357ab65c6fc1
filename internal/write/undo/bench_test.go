package undo_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var changes = flag.Int("undo.changes", 10_000, "stories that BenchmarkUndo changes with one request")

// BenchmarkUndo updates stories with one request and takes the update back. It reports the time of
// each in milliseconds, and their ratio.
func BenchmarkUndo(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { benchmark(b, testdb.SQLite(b)) })
	b.Run("mysql", func(b *testing.B) { benchmark(b, testdb.MySQL(b)) })
}

func benchmark(b *testing.B, d *db.DB) {
	w := newWorld(b, d)
	one := `{"AssetType":"Story","Name":"A story of the backlog",` + scope + `,"Description":"` + strings.Repeat("Some words. ", 30) + `"}`
	w.must(slices.Repeat([]string{one}, *changes)...)
	var updates, undos time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		id := w.must(fmt.Sprintf(`{"from":"Story","update":{"Estimate":%d,"Reference":"r%d"}}`, n+1, n)).RequestID
		updates += time.Since(began)
		began = time.Now()
		w.back(id)
		undos += time.Since(began)
	}
	b.ReportMetric(float64(updates.Milliseconds())/float64(b.N), "update-ms")
	b.ReportMetric(float64(undos.Milliseconds())/float64(b.N), "undo-ms")
	b.ReportMetric(float64(undos)/float64(updates), "undo/update")
	b.ReportMetric(0, "ns/op")
}
