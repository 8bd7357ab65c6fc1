package spectest

import (
	"testing"

	"github.com/alds-dev/alds/internal/testdb"
)

// TestAsForTiDB runs every case on a server that says it is a TiDB: what alds sends then
// is what a TiDB takes, and answers the same.
func TestAsForTiDB(t *testing.T) {
	url, recorded := testdb.AsTiDB(t)
	base, token := startServiceAt(t, "mysql", url)
	for _, c := range loadCases(t) {
		t.Run(c.file, func(t *testing.T) { runCase(t, base, token, c) })
	}
	for _, broken := range recorded.Broken(true) {
		t.Error(broken)
	}
	t.Logf("%d distinct statements", len(recorded.Statements()))
}
