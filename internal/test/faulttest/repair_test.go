package faulttest

import (
	"fmt"
	"strings"
	"testing"
)

// TestARepairThatIsKilled kills a repair several times and then lets it end. All values must be as they
// were before the damage, and the audit must have each repaired finding once.
func TestARepairThatIsKilled(t *testing.T) {
	together(t)
	s := newSite(t)
	api := s.startAPI()
	stories, kills := depth(1500, 4000), depth(2, 4)
	var made []any
	for n := range stories {
		made = append(made, map[string]any{"AssetType": "Story", "Name": fmt.Sprintf("story %04d", n), "Scope": "Scope:0"})
	}
	s.must(made)
	api.Stop()
	s.sound()
	const names = `SELECT GROUP_CONCAT(name ORDER BY id) FROM asset WHERE id > 1000`
	s.exec(`SET GLOBAL group_concat_max_len = 1000000`)
	sound := s.text(names)
	if strings.Count(sound, "story") != stories {
		t.Fatalf("%.200s", sound)
	}
	const damaged = `SELECT COUNT(*) FROM asset WHERE name = 'damaged'`
	s.exec(`UPDATE asset SET name = 'damaged', estimate = 5 WHERE id > 1000`)
	if code := s.start("api", "check").Status(); code != 1 {
		t.Errorf("a check of the damage ends with %d", code)
	}
	for range kills {
		left := s.count(damaged)
		repair := s.start("api", "repair", "--yes")
		s.until("a repair mends something", func() bool { return s.count(damaged) < left })
		repair.Kill()
	}
	if s.count(damaged) == 0 {
		late(t, "all was mended before it was killed")
	}
	s.start("api", "repair", "--yes").Wait()
	if s.text(names) != sound {
		t.Error("the names are not those of before")
	}
	if n := s.count(`SELECT COUNT(*) FROM asset WHERE estimate IS NOT NULL AND id > 1000`); n > 0 {
		t.Errorf("%d stories have the estimate that they never had", n)
	}
	if n := s.count(`SELECT SUM(events) FROM audit_trail WHERE kind = 'Repaired'`); n != stories {
		t.Errorf("the audit tells of %d findings that were mended, want %d", n, stories)
	}
	s.sound()
}

// text returns the text that an SQL query selects.
func (s *site) text(query string) (text string) {
	s.t.Helper()
	s.patiently(query, func() error { return s.db.QueryRow(s.t.Context(), query).Scan(&text) })
	return text
}
