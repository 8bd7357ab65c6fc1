package spectest

import (
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestAsForTiDB runs every case on a server that reports itself as TiDB. Then alds must send only
// statements that TiDB accepts, and must give the same answers as on other servers.
func TestAsForTiDB(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: every case on a server that says it is a TiDB")
	}
	url, recorded := testdb.AsTiDB(t)
	base, token := startServiceAt(t, "mysql", url)
	runCases(t, base, token, loadCases(t))
	for _, broken := range recorded.Broken(true) {
		t.Error(broken)
	}
	t.Logf("%d distinct statements", len(recorded.Statements()))
}
