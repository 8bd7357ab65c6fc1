package faulttest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// TestAServerThatBecomesReadOnly makes MariaDB read-only, as a primary is during a failover. Processes must
// not be ready, writes must be answered 503 and not stored, and reads must still work. When MariaDB accepts
// writes again, the processes must become ready and accept writes without a restart.
func TestAServerThatBecomesReadOnly(t *testing.T) {
	together(t)
	s := newSite(t)
	s.root("CREATE USER clerk@'%'")
	s.root("GRANT ALL ON " + database + ".* TO clerk@'%'") // root could write on a read-only server
	s.env = append(s.env, "DATABASE_URL="+strings.Replace(s.mysql, "root@", "clerk@", 1))
	admin := testproc.FreeAddr(t)
	ready := "http://" + admin + "/readyz"
	becomes := func(status int, what string) {
		t.Helper()
		if !testproc.Becomes(t.Context(), ready, status) {
			t.Fatalf("%s: /readyz does not become %d", what, status)
		}
	}
	api := s.startAt(admin, "api")
	becomes(http.StatusOK, "at the start")
	if strings.Contains(s.logs.String(), "takes no writes") {
		t.Error("it says that the database takes no writes")
	}
	s.wantWrite(http.StatusOK)

	s.root("SET GLOBAL read_only = 1")
	becomes(http.StatusServiceUnavailable, "read-only")
	if checks := s.checks(ready); checks["database"] != "the database takes no writes: the server is read-only (read_only)" || checks["schema"] != "ok" {
		t.Errorf("checks %v", checks)
	}
	s.wantWrite(http.StatusServiceUnavailable)
	if status, body := s.request(http.MethodGet, "/rest-1.v1/Data/Scope", ""); status != http.StatusOK {
		t.Errorf("a read: %d %s", status, body)
	}

	s.root("SET GLOBAL read_only = 0")
	becomes(http.StatusOK, "writable again")
	s.wantWrite(http.StatusOK)
	s.until("the sign-in is in the audit trail", func() bool {
		return s.count("SELECT COUNT(*) FROM audit_trail WHERE kind = 'SignIn'") > 0
	}) // a stopped api that still has an event to write would log an error

	s.root("SET GLOBAL read_only = 1")
	api.Stop()
	s.startAt(admin, "api")
	becomes(http.StatusServiceUnavailable, "started on a read-only server")
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Error("it does not answer")
	}
	if !strings.Contains(s.logs.String(), `"msg":"the database takes no writes"`) {
		t.Error("it does not say at the start that the database takes no writes")
	}
	s.root("SET GLOBAL read_only = 0")
	becomes(http.StatusOK, "writable at last")
	s.sound()
}

func (s *site) root(statement string) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), statement); err != nil {
		s.t.Fatal(err)
	}
}

// request sends a request as the administrator.
func (s *site) request(method, path, body string) (status int, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") == "" {
		s.t.Errorf("%s %s: 503 without Retry-After", method, path)
	}
	return res.StatusCode, string(b)
}

// wantWrite tries to create a story, and checks the status of the answer. The story must be stored exactly
// if the status is 200.
func (s *site) wantWrite(status int) {
	s.t.Helper()
	const stories = "SELECT COUNT(*) FROM asset WHERE name = 'S'"
	want := s.count(stories)
	if status == http.StatusOK {
		want++
	}
	got, body := s.request(http.MethodPost, "/api/asset", `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`)
	if n := s.count(stories); got != status || n != want {
		s.t.Errorf("a write: %d, want %d; %d stories, want %d: %s", got, status, n, want, body)
	}
}

// checks returns the results of the checks in an answer of /readyz, by the name of the check.
func (s *site) checks(url string) map[string]string {
	s.t.Helper()
	res, err := http.Get(url) //nolint:gosec,noctx // a service of the test
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	var report struct{ Checks map[string]string }
	if err := json.NewDecoder(res.Body).Decode(&report); err != nil {
		s.t.Fatal(err)
	}
	return report.Checks
}
