//go:build unix

package doctest

import (
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestImport(t *testing.T) {
	t.Parallel()
	service := testproc.FreeAddr(t)
	follow(t, root+"/docs/import.md", []row{
		{begins: "go run ./cmd/standalone", beside: true, after: "until_ok curl -sf http://" + service + "/alds/ui"},
		{begins: "export ALDS_URL", prints: `5 records: 5 created(.|\n)*nothing was written(.|\n)*5 records: 5 created`},
		{begins: "POST api/asset", not: "what a command of the import becomes"},
		{begins: "go run ./cmd/api import jsonl", prints: `3 records: 3 created, 0 updated, 0 unchanged, 0 rejected`},
		{begins: "go run ./cmd/api import jira", prints: `4 records: 4 created(.|\n)*3 records: 3 created`},
	}, []string{"ALDS_ADDR=" + service, "ALDS_DATA_DIR=" + t.TempDir(), "PORT="}, "127.0.0.1:8080", service)
}
