package faulttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestSchedulersKilledWhileTheyPrune kills two schedulers while they remove old versions. A third scheduler
// then finishes the work. The result must be the same as that of a single scheduler, and the command check
// must find no fault.
func TestSchedulersKilledWhileTheyPrune(t *testing.T) {
	together(t)
	s := newSite(t, "ALDS_VERSION_KEEP=24h")
	s.startAPI()
	stories, changes := depth(60, 100), depth(12, 20)
	var made []any
	for range stories {
		made = append(made, map[string]any{"AssetType": "Story", "Name": "a", "Scope": "Scope:0", "Owners": "Member:20"})
	}
	s.must(made)
	for n := range changes {
		owners := map[string]any{[]string{"remove", "add"}[n%2]: "Member:20"}
		s.must(map[string]any{"from": "Story", "update": map[string]any{"Name": fmt.Sprint("b", n), "Owners": owners}})
	}
	const twoDays = 2 * 24 * int64(time.Hour/time.Microsecond)
	for _, table := range []string{"asset SET changed_at = changed_at - ?, created_at = created_at - ?", "asset_version SET changed_at = changed_at - ?, created_at = created_at - ?"} {
		s.exec("UPDATE "+table+" WHERE moment > 0 AND created_moment > 0", twoDays, twoDays)
	}
	s.exec("UPDATE moment_stamp SET at = at - ?", twoDays)
	s.exec("UPDATE audit SET at = at - ?, fan_state = 1", twoDays)
	const left = `SELECT COUNT(*) FROM asset_version WHERE id > 1000`
	a, b, before := s.start("scheduler"), s.start("scheduler"), s.count(left)
	s.until("versions go", func() bool { return s.count(left) < before })
	a.Kill()
	b.Kill()
	if s.count(left) == stories {
		late(t, "all was done before they were killed")
	}
	if testing.Short() { // a task of a killed scheduler would block another task of the same second for a minute
		s.emptyRedis()
	}
	s.startBeside("scheduler")
	s.until("all is done", func() bool { return s.count(left) == stories && s.count(`SELECT COUNT(*) FROM moment_stamp`) == 1 })
	for query, want := range map[string]int{
		left: stories,
		`SELECT COUNT(*) FROM asset_link WHERE from_id > 1000 AND until_moment < 9223372036854775807`: 0,
		`SELECT COUNT(*) FROM moment_stamp`: 1,
		`SELECT COUNT(*) FROM audit WHERE last_moment > 0 AND NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.audit_id = audit.id)`: 0,
	} {
		if got := s.count(query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
	s.sound()
}

// until polls until reached returns true. It waits up to five minutes: a task of a killed scheduler blocks
// other tasks of the same second until the next period. what completes the sentence "it does not come to
// pass that".
func (s *site) until(what string, reached func() bool) {
	s.t.Helper()
	for end := time.Now().Add(5 * time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("it does not come to pass that %s", what)
		}
	}
}

// must executes commands as the administrator. It fails the test if a command fails.
func (s *site) must(commands any) {
	s.t.Helper()
	var answer bulk
	if s.mustPost("/api/asset", commands, &answer); answer.CommandFailures.Count > 0 {
		s.t.Fatalf("%d commands failed", answer.CommandFailures.Count)
	}
}

// exec executes an SQL statement in the database.
func (s *site) exec(query string, args ...any) {
	s.t.Helper()
	testdb.Exec(s.t, s.db, query, args...)
}
