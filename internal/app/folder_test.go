package app

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestAFirstStartThatRefusesMakesNothing checks that a refused first start creates neither a
// folder nor tables.
func TestAFirstStartThatRefusesMakesNothing(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]map[string]string{
		"the interface":      {"ALDS_ADDR": "0.0.0.0:0"},
		"by its port":        {"ALDS_ADDR": ":0"},
		"the admin listener": {"ALDS_ADDR": "127.0.0.1:0", "ALDS_ADMIN_ADDR": "0.0.0.0:0"},
		"on a server":        {"ALDS_ADDR": "0.0.0.0:0", "DATABASE_URL": testdb.EmptyURL(t, "mysql")},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "data")
			// Without the empty password, env sets adminPassword.
			settings["ALDS_DATA_DIR"], settings["ALDS_ADMIN_PASSWORD"] = folder, ""
			err := Run(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, Standalone)
			if err == nil || !strings.Contains(err.Error(), "ALDS_ADMIN_PASSWORD") || !strings.Contains(err.Error(), "nothing was") || strings.Contains(err.Error(), "\n") {
				t.Errorf("it says %v", err)
			}
			if url := settings["DATABASE_URL"]; url != "" {
				if n := testdb.CountTables(t, url); n != 0 {
					t.Errorf("%d tables are there", n)
				}
				return
			}
			if _, err := os.Stat(folder); !os.IsNotExist(err) {
				t.Errorf("the folder: %v", err)
			}
		})
	}
}

// TestTwoStandalonesInOneFolder checks that a second standalone in a folder fails. The error must
// say that another standalone runs there.
func TestTwoStandalonesInOneFolder(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"ALDS_DATA_DIR": t.TempDir(), "ALDS_ADDR": "127.0.0.1:0"}
	r := start(t, settings, Standalone)
	err := Run(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, Standalone)
	if err == nil || !strings.Contains(err.Error(), "another standalone runs in the folder "+settings["ALDS_DATA_DIR"]) {
		t.Errorf("it says %v", err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, settings, Standalone).stop(); err != nil {
		t.Error(err)
	}
}
