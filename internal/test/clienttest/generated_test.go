package clienttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testnpm"
)

// TestGeneratedClient generates types from docs/openapi.yaml with openapi-typescript. The types must
// compile in strict mode, together with a client that uses them. The client must then work against the
// service. The versions of the packages are fixed.
func TestGeneratedClient(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "node", "--version")
	dir := testnpm.NPM(t, "openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@20.19.25")
	program := func(of ...string) string {
		return filepath.Join(append([]string{dir, "node_modules"}, of...)...)
	}
	client, err := os.ReadFile("testdata/typescript/client.ts")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "client.ts"), client, 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, "node", program("openapi-typescript", "bin", "cli.js"), filepath.Join(testdb.Root(t), "docs", "openapi.yaml"), "--default-non-nullable=false", "--output", filepath.Join(dir, "api.d.ts"))
	run(t, "node", program("typescript", "bin", "tsc"), "--strict", "--noUncheckedIndexedAccess", "--target", "es2022", "--module", "nodenext",
		"--types", "node", "--typeRoots", program("@types"), "--rootDir", dir, "--outDir", dir, filepath.Join(dir, "client.ts"))
	speaks(t, "node", filepath.Join(dir, "client.js"))
}
