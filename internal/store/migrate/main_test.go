package migrate_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) {
	if url := os.Getenv(migrates); url != "" {
		fmt.Fprintln(os.Stderr, migrateForever(url))
		os.Exit(1)
	}
	testdb.Main(m)
}
