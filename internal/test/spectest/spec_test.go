package spectest

import (
	"testing"

	"github.com/alds-dev/alds/internal/testdb"
	"github.com/alds-dev/alds/internal/testproc"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

const adminPassword = "the spec's own password"

// TestSpec runs every case on every database.
func TestSpec(t *testing.T) {
	cases := loadCases(t)
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			base, token := startService(t, dialect)
			for _, c := range cases {
				t.Run(c.file, func(t *testing.T) { runCase(t, base, token, c) })
			}
		})
	}
}

// startService runs the whole service in this process until the test ends. It
// returns the base URL and an access token of Member:20.
func startService(t *testing.T, dialect string) (base, token string) {
	t.Helper()
	return startServiceAt(t, dialect, testdb.EmptyURL(t, dialect))
}

// startServiceAt is startService on an empty database that the caller has.
func startServiceAt(t *testing.T, dialect, url string) (base, token string) {
	t.Helper()
	return testproc.ServeWithToken(t, dialect, map[string]string{
		"DATABASE_URL":                url,
		"ALDS_ADMIN_PASSWORD":         adminPassword,
		"ALDS_WEBHOOK_ALLOW_PRIVATE":  "1",
		"ALDS_WEBHOOK_RETRY_SCHEDULE": "5ms,5ms",
	})
}
