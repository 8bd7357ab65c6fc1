package command

import (
	"net/http"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestRotateKeyCommand checks the output of rotate-key. TestRotateKey of package app checks which
// keys a database accepts afterwards.
func TestRotateKeyCommand(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := map[string]string{"DATABASE_URL": testdb.URL(t, dialect), "ALDS_ADMIN_PASSWORD": "right", "ALDS_WEBHOOK_ALLOW_PRIVATE": "1"}
			t.Run("subscribe", func(t *testing.T) {
				base := testproc.Serve(t, dialect, settings)
				for range 2 {
					ask(t, http.MethodPost, base+"/api/webhook", `{"url": "http://127.0.0.1:9/", "enabled": false, "authorizationHeader": "Bearer x", "eventTypes": [{"type": "AssetCreated", "from": "Story"}]}`)
				}
			})
			const otherKey = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="
			both := "ALDS_SECRET_KEY=" + otherKey + "," + testKey
			for _, c := range []commandCase{
				{line: "api rotate-key", status: 1, stderr: "ALDS_SECRET_KEY is not set"},
				{line: "api rotate-key", env: "ALDS_SECRET_KEY=" + otherKey, status: 1, stderr: "ALDS_SECRET_KEY is not the key"},
				{line: "api rotate-key", env: both, stdout: "sealed anew: 3\n"}, // two headers and the check value of the key
				{line: "api rotate-key", env: both, stdout: "sealed anew: 0\n"},
			} {
				c.run(t, settings)
			}
			testdb.Exec(t, open(t, settings), "UPDATE webhook_subscription SET authorization = 'x'")
			commandCase{line: "api rotate-key", env: both, status: 1, stdout: "sealed anew: 0\n", stderr: "rotate-key: |subscription"}.run(t, settings)
		})
	}
}
