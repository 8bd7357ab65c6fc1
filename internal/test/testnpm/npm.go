package testnpm

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// NPM returns a folder whose node_modules has the given npm packages. Each is written as "name@version".
// Options of npm may come before the packages. The installed packages are kept for later runs. If npm
// cannot get the packages, the test is skipped, or fails with REQUIRE_SERVICES=1.
func NPM(t testing.TB, packages ...string) (dir string) {
	t.Helper()
	of := fnv.New64a()
	_, _ = of.Write([]byte(strings.Join(packages, " "))) // writing to a hash never fails
	kept, release, err := testdb.Keep(fmt.Sprintf("npm-%x", of.Sum64()))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	modules, done := filepath.Join(kept, "node_modules"), filepath.Join(kept, "done")
	if _, err := os.Stat(done); err != nil {
		install := []string{"npm", "install", "--prefix", kept, "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"}
		testdb.Runs(t, append(install, packages...)...)
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir = t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}
