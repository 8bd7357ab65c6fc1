package clienttest

import (
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

const password = "known to the client"

// start runs the service until the test ends, and returns its URL. Clients may read metadata without a
// login.
func start(t *testing.T, dialect string) string {
	t.Helper()
	return testproc.Serve(t, dialect, map[string]string{"ALDS_ADMIN_PASSWORD": password, "ALDS_OPEN_METADATA": "1"})
}
