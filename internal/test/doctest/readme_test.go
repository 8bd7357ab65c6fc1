//go:build unix

package doctest

import (
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestReadme(t *testing.T) {
	t.Parallel()
	service, receiver, api := testproc.FreeAddr(t), testproc.FreeAddr(t), testproc.FreeAddr(t)
	created := `"oidTokens":\["Scope:1001","Story:1002","Story:1003","Task:1004"\]`
	follow(t, root+"/README.md", []row{
		{begins: "go run -v ./cmd/standalone", beside: true, after: "until_ok curl -sf http://" + service + "/alds/ui"},
		{begins: "go run ./internal/test/testall", not: "it runs this test"},
		{begins: "make check", not: "it runs this test"},
		{begins: "make long", not: "it runs this test"},
		{begins: "curl", prints: created},
		{begins: "curl", prints: `"Name":"Pay by card"(.|\n)*"Name":"Browse the catalogue"`},
		{begins: "curl", prints: `Pay by card`},
		{begins: "go run ./bench/receiver", beside: true, after: "until_ok curl -s http://" + receiver},
		{begins: "curl", prints: `"webhookId":"first"`},
		{begins: "curl", prints: `"assetsModified":\{"oidTokens":\["Story:1003"`, after: "until_prints $OUT/7 'Pay by card'"},
		{begins: "CREATE DATABASE", not: "operations.md has the same statements, and its test runs them"},
		{
			begins: "export DATABASE_URL", before: "export ALDS_ADDR=" + api, prints: `schema is up to date`,
			after: "until_ok curl -sf -u admin:choose-one http://" + api + "/alds/rest-1.v1/Data/Member/20",
		},
		{begins: "go run ./cmd/api token create", prints: `(?m)^\d+\.[A-Za-z0-9+/=]{40,}$`},
	}, []string{"ALDS_ADDR=" + service, "ALDS_DATA_DIR=" + t.TempDir(), "PORT="},
		"127.0.0.1:8080", service, "go run ./bench/receiver", "go run ./bench/receiver -addr "+receiver, "127.0.0.1:9000", receiver,
		"mysql://alds:secret@127.0.0.1:3306/alds", testdb.EmptyURL(t, "mysql"), "redis://127.0.0.1:6379/0", testdb.Redis(t))
}
