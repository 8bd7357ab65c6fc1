package faulttest

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestProcessesWaitForTheirDatabase starts every role while MariaDB is down. The processes must keep
// running, log that they wait, and answer /healthz. A process that gets SIGTERM must stop at once. The
// other processes must become ready when MariaDB starts, and must no longer be ready when MariaDB is killed
// again.
func TestProcessesWaitForTheirDatabase(t *testing.T) {
	together(t)
	addr := testproc.FreeAddr(t)
	s := newSite(t, "ALDS_ADDR="+addr)
	s.base = "http://" + addr + "/alds"
	s.mariadb.Kill()
	health := map[string]string{}
	runs := map[string]*testproc.Process{}
	for _, name := range []string{"api", "worker", "scheduler"} {
		health[name] = testproc.FreeAddr(t)
		runs[name] = s.startAt(health[name], name)
	}
	for name, at := range health {
		if !testproc.Becomes(t.Context(), "http://"+at+"/healthz", http.StatusOK) || !testproc.Becomes(t.Context(), "http://"+at+"/readyz", http.StatusServiceUnavailable) {
			t.Errorf("the %s does not say that it runs and waits", name)
		}
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("the api listens before it can answer")
	}
	for until := time.Now().Add(testproc.AnswersIn); strings.Count(s.logs.String(), "the database does not answer, trying again") < 6; <-time.After(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("they do not try again")
		}
	}
	began := time.Now()
	runs["scheduler"].Stop() // must end with status 0
	if took := time.Since(began); took > time.Second && !testing.Short() {
		t.Errorf("told to stop while it waits, the scheduler took %s", took)
	}
	s.mariadb.Start()
	for _, name := range []string{"api", "worker"} {
		if !testproc.Becomes(t.Context(), "http://"+health[name]+"/readyz", http.StatusOK) {
			t.Errorf("the %s is not ready", name)
		}
		runs[name].MustRun()
	}
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Error("the api does not answer")
	}
	s.mariadb.Kill()
	killed := time.Now()
	for _, name := range []string{"api", "worker"} {
		if !testproc.Becomes(t.Context(), "http://"+health[name]+"/readyz", http.StatusServiceUnavailable) {
			t.Errorf("the %s stays ready without its database", name)
		}
	}
	t.Logf("both are not ready %s after the end of MariaDB (aim: 2 s)", time.Since(killed).Round(time.Millisecond))
	s.mariadb.Start()
}
