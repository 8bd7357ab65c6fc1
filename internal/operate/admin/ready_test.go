package admin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/alds-dev/alds/internal/base/fault"
)

// watching returns a server whose checks run until the test ends.
func watching(t *testing.T, log *slog.Logger, checks ...Check) *Server {
	t.Helper()
	s := New(prometheus.NewRegistry(), log)
	s.SetChecks(checks)
	t.Cleanup(s.ready.end)
	return s
}

var errDown = fault.Transientf(errors.New("dial root:pw@db"), "the database does not answer")

func TestReady(t *testing.T) {
	check := func(name string, err error, optional bool) Check {
		return Check{Name: name, Run: func(context.Context) error { return err }, Optional: optional}
	}
	fine, down := check("database", nil, false), check("database", errDown, false)
	odd, slow := check("schema", errors.New("secret detail"), false), check("redis", errors.New("no"), true)
	hangs := Check{Name: "redis", Run: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}, Optional: true}
	for _, c := range []struct {
		why    string
		checks []Check
		after  time.Duration
		status int
		body   string
	}{
		{"all is well", []Check{fine}, 0, 200, `{"status":"ok","checks":{"database":"ok"}}`},
		{"a required dependency is down", []Check{down, slow}, 0, 503, `{"status":"not ready","checks":{"database":"the database does not answer","redis":"failed"}}`},
		{"an optional dependency is down", []Check{fine, slow}, 0, 200, `{"status":"degraded","checks":{"database":"ok","redis":"failed"}}`},
		{"an error nobody classified is not shown", []Check{odd}, 0, 503, `{"status":"not ready","checks":{"schema":"failed"}}`},
		{"a result has an age", []Check{fine}, 2*checkEvery + 300*time.Millisecond, 200, `{"status":"ok","checks":{"database":"ok"},"ageSeconds":0.3}`},
		{"no result yet", []Check{fine, hangs}, 0, 200, `{"status":"degraded","checks":{"database":"ok","redis":"not checked yet"}}`},
		{"a check hangs beside another one", []Check{fine, hangs}, checkTimeout, 200, `{"status":"degraded","checks":{"database":"ok","redis":"no answer within 4s"}}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := watching(t, slog.New(slog.DiscardHandler), c.checks...)
			time.Sleep(c.after) // on the fake clock of the test
			synctest.Wait()
			if status, body := ask(s, "/readyz"); status != c.status || body != c.body {
				t.Errorf("%s: %d %s", c.why, status, body)
			}
			s.Drain()
			if status, body := ask(s, "/readyz"); status != 503 || body != `{"status":"stopping"}` {
				t.Errorf("%s, stopping: %d %s", c.why, status, body)
			}
		})
	}
}

// TestAHangingCheckKeepsNobodyWaiting uses a check that hangs and ignores its deadline. Requests
// must not wait for this check, and its last result must stay valid for checkKeeps.
func TestAHangingCheckKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hang atomic.Bool
		release := make(chan struct{})
		s := watching(t, slog.New(slog.DiscardHandler), Check{Name: "database", Run: func(context.Context) error {
			if hang.Load() {
				<-release
			}
			return nil
		}})
		synctest.Wait()
		hang.Store(true)
		for _, c := range []struct {
			after  time.Duration
			status int
			holds  string
		}{
			{checkKeeps - time.Millisecond, 200, `"ok"`},
			{2 * time.Millisecond, 503, "the check hangs"},
			{time.Hour, 503, "the check hangs"},
		} {
			time.Sleep(c.after)
			began := time.Now()
			if status, body := ask(s, "/readyz"); status != c.status || !strings.Contains(body, c.holds) {
				t.Errorf("after another %s: %d %s", c.after, status, body)
			}
			if took := time.Since(began); took > 0 { // the fake clock moves only while all goroutines wait
				t.Errorf("the request took %s", took)
			}
		}
		hang.Store(false)
		close(release)
		synctest.Wait()
		if status, body := ask(s, "/readyz"); status != 200 {
			t.Errorf("after the check returned: %d %s", status, body)
		}
	})
}

// TestChangesOfChecksAreLogged expects a log line when the result of a check changes, and one line
// a minute while the check fails. The number of requests for /readyz must not matter.
func TestChangesOfChecksAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var log bytes.Buffer
		s := watching(t, slog.New(slog.NewTextHandler(&log, nil)), Check{Name: "database", Run: func(context.Context) error {
			if down.Load() {
				return errDown
			}
			return nil
		}})
		for _, c := range []struct {
			why    string
			down   bool
			lasts  time.Duration
			failed int // number of log lines of failures
			well   int // number of log lines of recoveries
		}{
			{"well from the start", false, time.Hour, 0, 0},
			{"down", true, 10 * time.Second, 1, 0},
			{"still down", true, 3 * time.Minute, 3, 0},
			{"passes again", false, time.Hour, 0, 1},
			{"down again", true, 2 * time.Second, 1, 0},
		} {
			down.Store(c.down)
			for end := time.Now().Add(c.lasts); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
				ask(s, "/readyz")
			}
			synctest.Wait()
			failed, well := strings.Count(log.String(), "check failed"), strings.Count(log.String(), "passes again")
			if failed != c.failed || well != c.well {
				t.Errorf("%s for %s: the log has %d lines of failures and %d lines of recoveries", c.why, c.lasts, failed, well)
			}
			log.Reset()
		}
	})
}

// TestAReasonTakesThePlaceOfChecks expects that NotReady replaces the checks at once. A process
// that starts uses NotReady to report the dependency that it waits for.
func TestAReasonTakesThePlaceOfChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := watching(t, slog.New(slog.DiscardHandler), Check{Name: "database", Run: func(context.Context) error { return nil }})
		synctest.Wait()
		s.NotReady("database", errDown)
		if status, body := ask(s, "/readyz"); status != 503 || body != `{"status":"not ready","checks":{"database":"the database does not answer"}}` {
			t.Errorf("%d %s", status, body)
		}
		s.SetChecks(nil)
		if status, body := ask(s, "/readyz"); status != 200 {
			t.Errorf("%d %s", status, body)
		}
	})
}

// TestChecksAreMeasured expects the last results of the checks in the metrics.
func TestChecksAreMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fails atomic.Bool
		s := New(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		t.Cleanup(s.ready.end)
		has := func(lines ...string) {
			t.Helper()
			synctest.Wait()
			_, body := ask(s, "/metrics")
			for _, line := range lines {
				if !strings.Contains(body, line) {
					t.Errorf("no %s in %s", line, body)
				}
			}
		}
		s.NotReady("database", errDown)
		has(`alds_admin_check_up{check="database"} 0`)
		s.SetChecks([]Check{
			{Name: "database", Run: func(context.Context) error { return nil }},
			{Name: "redis", Optional: true, Run: func(context.Context) error {
				if fails.Load() {
					return errDown
				}
				return nil
			}},
		})
		has(`alds_admin_check_up{check="database"} 1`, `alds_admin_check_up{check="redis"} 1`)
		fails.Store(true)
		time.Sleep(checkEvery)
		has(`alds_admin_check_up{check="database"} 1`, `alds_admin_check_up{check="redis"} 0`)
	})
}
