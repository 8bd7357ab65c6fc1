package auth

import (
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// BenchmarkLookups measures the reads of a login whose credential or token is not cached.
func BenchmarkLookups(b *testing.B) {
	for _, d := range []*db.DB{testdb.MySQL(b), testdb.SQLite(b)} {
		dialect := d.Dialect.Name
		w := newFixture(b, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "x")
		hash := hashToken(w.token("admin", TokenOptions{}))
		b.Run(dialect+"/credential", func(b *testing.B) {
			for b.Loop() {
				if c, err := w.s.findCredential(b.Context(), "admin"); err != nil || c.member != 20 {
					b.Fatal(c, err)
				}
			}
		})
		b.Run(dialect+"/token", func(b *testing.B) {
			for b.Loop() {
				if t, err := w.s.findTokens(b.Context(), []string{hash}); err != nil || t[hash].member != 20 {
					b.Fatal(t, err)
				}
			}
		})
	}
}
