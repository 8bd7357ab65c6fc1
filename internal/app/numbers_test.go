package app

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestErrorsOfServersAreNoDefects makes the database answer writes with errors of database
// clusters. If an error occurs only a few times, the service hides it by repeating the write. A
// lasting error gets 503 with Retry-After, and an error that no repetition can fix gets 400. No
// error gets 500, and a failed write stores nothing.
func TestErrorsOfServersAreNoDefects(t *testing.T) {
	t.Parallel()
	settings := map[string]string{
		"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": testdb.URL(t, "mysql"), "REDIS_URL": testdb.Redis(t), "ALDS_SECRET_KEY": testKey,
	}
	if err := Migrate(t.Context(), Environment{Getenv: env(settings), Stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	s := &signals{running: start(t, settings, API)}
	var err error
	if s.db, err = db.Open(t.Context(), settings["DATABASE_URL"], db.Options{MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	// A rollback does not undo changes of a MyISAM table, so the count of errors stays.
	s.exec("CREATE TABLE told (number INT, message VARCHAR(100), times INT) ENGINE=MyISAM")
	const bulk, path = "/api/asset", "/rest-1.v1/Data/Story"
	for i, table := range []string{"asset", "audit"} {
		s.exec("CREATE TRIGGER tells_" + table + " AFTER INSERT ON " + table + ` FOR EACH ROW BEGIN
			DECLARE n, t INT DEFAULT 0; DECLARE m VARCHAR(100);
			SELECT number, message, times INTO n, m, t FROM told;
			IF t > 0 THEN
				UPDATE told SET times = times - 1;
				SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = n, MESSAGE_TEXT = m;
			END IF;
		END`)
		for _, n := range sampled(i, 1205, 1213, 3101, 8022, 8028, 9007, 1047, 1290, 1836, 3797, 1180, 1181, 3100) {
			s.expect(table, bulk, n, 1, http.StatusOK)
			s.expect(table, bulk, n, 1000, http.StatusServiceUnavailable)
		}
		for _, n := range sampled(i, 9001, 9002, 9003, 9005, 1040, 1317, 1114) {
			s.expect(table, bulk, n, 1, http.StatusServiceUnavailable)
		}
		s.expect(table, bulk, 8004, 1, http.StatusBadRequest)
		s.expect(table, path, 3101, 1, http.StatusOK)
		s.expect(table, path, 3101, 1000, http.StatusServiceUnavailable)
		s.expect(table, path, 9001, 1, http.StatusServiceUnavailable)
		s.exec("DROP TRIGGER tells_" + table)
	}
}

// sampled returns numbers. In short mode it returns every third number, beginning at the index
// first; the tests of package db use all numbers.
func sampled(first int, numbers ...int) (some []int) {
	for i, n := range numbers {
		if !testing.Short() || i%3 == first {
			some = append(some, n)
		}
	}
	return some
}

// signals makes the database of a service fail.
type signals struct {
	*running
	db *db.DB
}

func (s *signals) exec(statement string, args ...any) {
	s.t.Helper()
	testdb.Exec(s.t, s.db, statement, args...)
}

func (s *signals) count() (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), "SELECT COUNT(*) FROM asset").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// expect sends one write. The first inserts into table, as many as times, fail with the error
// number. expect checks the status of the answer, and that only a successful write is stored.
func (s *signals) expect(table, path string, number, times, status int) {
	s.t.Helper()
	before := s.count()
	s.exec("DELETE FROM told")
	s.exec("INSERT INTO told VALUES (?, 'told by a test', ?)", number, times)
	body := `{"AssetType": "Story", "Name": "S", "Scope": "Scope:0"}`
	if path != "/api/asset" {
		body = `{"Attributes": {"Name": {"value": "S", "act": "set"}, "Scope": {"value": "Scope:0", "act": "set"}}}`
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("admin", adminPassword)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	want := before
	if status == http.StatusOK {
		want++
	}
	s.exec("DELETE FROM told")
	if got := s.count(); resp.StatusCode != status || got != want || status == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		s.t.Errorf("%d by %s, %d times, %s: %d, Retry-After %q, %d assets, want %d and %d: %s",
			number, table, times, path, resp.StatusCode, resp.Header.Get("Retry-After"), got-before, status, want-before, answer)
	}
}
