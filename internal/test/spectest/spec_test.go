package spectest

import (
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) { testdb.Judged(m) }

const adminPassword = "the spec's own password"

// TestSpec runs every case on every database.
func TestSpec(t *testing.T) {
	cases := loadCases(t)
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			base, token := startService(t, dialect)
			runCases(t, base, token, cases)
		})
	}
}

// atOnce is how many cases run at a time. Most of the time they wait for the disk of the database or for
// events.
const atOnce = 8

// runCases first runs the cases that must run alone, one after another. Then it runs the other cases,
// several at a time.
func runCases(t *testing.T, base, token string, cases []specCase) {
	t.Helper()
	var alone, others []specCase
	for _, c := range cases {
		if c.alone != "" {
			alone = append(alone, c)
		} else {
			others = append(others, c)
		}
	}
	run := func(c specCase) {
		t.Run(c.file, func(t *testing.T) { runCase(t, base, token, c) })
	}
	for _, c := range alone {
		run(c)
	}
	together(others, run)
}

// together calls do for each element of all, for several elements at a time.
func together[T any](all []T, do func(T)) {
	next := make(chan T)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for one := range next {
				do(one)
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	workers.Wait()
}

// indexes returns the indexes of a list.
func indexes[T any](all []T) []int {
	n := make([]int, len(all))
	for i := range n {
		n[i] = i
	}
	return n
}

// startService runs the whole service in this process until the test ends. It returns the URL of the
// service and an access token of Member:20.
func startService(t *testing.T, dialect string) (base, token string) {
	t.Helper()
	return startServiceAt(t, dialect, testdb.URL(t, dialect))
}

// startServiceAt is like startService, on the empty database with the URL url.
func startServiceAt(t *testing.T, dialect, url string) (base, token string) {
	t.Helper()
	return testproc.ServeWithToken(t, dialect, map[string]string{
		"DATABASE_URL":                url,
		"ALDS_ADMIN_PASSWORD":         adminPassword,
		"ALDS_WEBHOOK_ALLOW_PRIVATE":  "1",
		"ALDS_WEBHOOK_RETRY_SCHEDULE": "5ms,5ms",
	})
}
