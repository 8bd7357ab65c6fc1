package asset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/asset/audit"
)

// consistent checks conditions that must always be true for the versions, Numbers and audit rows
// of a database.
func (w *harness) consistent() {
	w.t.Helper()
	w.expect("0\n", `SELECT COUNT(*) FROM asset a LEFT JOIN asset_version v ON v.id = a.id AND v.moment = a.moment AND v.until_moment = 9223372036854775807
 WHERE v.id IS NULL OR v.state <> a.state OR v.audit_id <> a.audit_id`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_version v WHERE v.until_moment < 9223372036854775807
 AND NOT EXISTS (SELECT 1 FROM asset_version n WHERE n.id = v.id AND n.moment = v.until_moment)`)
	w.expect("0\n", `SELECT COUNT(*) FROM (SELECT id FROM asset_version WHERE until_moment = 9223372036854775807 GROUP BY id HAVING COUNT(*) > 1) x`)
	w.expect("0\n", `SELECT COUNT(*) FROM (SELECT moment FROM asset_version WHERE moment > 0 GROUP BY moment HAVING COUNT(*) > 1) x`)
	w.expect("0\n", `SELECT COUNT(*) FROM (SELECT number, type FROM asset WHERE number IS NOT NULL GROUP BY number, type HAVING COUNT(*) > 1) x`)
	w.expect("0\n", `SELECT COUNT(*) FROM asset_version v WHERE v.moment > 0 AND NOT EXISTS
 (SELECT 1 FROM audit a WHERE a.id = v.audit_id AND v.moment BETWEEN a.first_moment AND a.last_moment)`)
}

// together runs n requests concurrently, which must all succeed.
func (w *harness) together(n int, request func(i int) []*asset.Command) {
	var wait sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wait.Go(func() {
			errs[i] = w.e.Write(context.Background(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
				commands := request(i)
				for _, c := range commands {
					if c.Self != nil {
						s.Define(c.Self.Alias, c.Self)
					}
				}
				got, err := s.Run(context.Background(), commands)
				for _, o := range got {
					if err == nil {
						err = o.Err
					}
				}
				return err
			})
		})
	}
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			w.t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestConcurrentRequestsOnOneAsset(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		s := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
		const n = 16
		w.together(n, func(i int) []*asset.Command {
			return []*asset.Command{update(s, "Name", fmt.Sprint("S", i)), create("Story", "@n", "Name", "N", "Scope", "Scope:0")}
		})
		w.expect(fmt.Sprintf("%d\n", n+1), `SELECT COUNT(*) FROM asset_version WHERE id = ?`, id(s))
		w.consistent()
	})
}

// Two requests that lock the same assets in opposite orders cause a deadlock. The engine then runs
// one of them again from its start.
func TestDeadlockIsRetried(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(create("Story", "@a", "Name", "A", "Scope", "Scope:0"), create("Story", "@b", "Name", "B", "Scope", "Scope:0"))
		met := make(chan struct{}, 2)
		both := make(chan struct{})
		go func() { <-met; <-met; close(both) }()
		var wait sync.WaitGroup
		for i := range 2 {
			wait.Go(func() {
				first := true
				err := w.e.Write(context.Background(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
					for k := range 2 {
						o, err := s.Run(context.Background(), []*asset.Command{update(got[(i+k)%2], "Reference", fmt.Sprint(i))})
						if err != nil || o[0].Err != nil {
							return fmt.Errorf("%w %v", err, o)
						}
						if k == 0 && first && w.d.Dialect.SmallInside {
							first = false
							met <- struct{}{}
							select {
							case <-both:
							case <-time.After(time.Minute):
								return errors.New("the other write waits for rows that it does not write")
							}
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		w.expect("3\n3\n", `SELECT COUNT(*) FROM asset_version WHERE id > 1000 GROUP BY id`)
		w.consistent()
	})
}

func TestConcurrentMovesMakeNoCycle(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		for range 5 {
			got := w.must(
				create("Scope", "@a", "Name", "A", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
				create("Scope", "@b", "Name", "B", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			)
			var wait sync.WaitGroup
			failed := make([]error, 2)
			for i := range 2 {
				wait.Go(func() {
					err := w.e.Write(context.Background(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
						o, err := s.Run(context.Background(), []*asset.Command{update(got[i], "Parent", got[1-i])})
						if err == nil {
							failed[i] = o[0].Err
						}
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			if (failed[0] == nil) == (failed[1] == nil) {
				t.Errorf("both or none of two moves failed: %v", failed)
			}
		}
		w.consistent()
	})
}

// If concurrent requests write a relation from both of its ends, there is still only one link
// between two assets, and only one role of a member in a project.
func TestBothEndsAtOnce(t *testing.T) {
	for _, c := range []struct {
		what string
		pair func(w *harness) [2]*asset.Command
	}{
		{"add", func(w *harness) [2]*asset.Command {
			s, m := w.story(), w.member()
			return [2]*asset.Command{update(s, "Owners", m), update(m, "OwnedWorkitems", s)}
		}},
		{"add by name", func(w *harness) [2]*asset.Command {
			s, m := w.story(), w.member()
			name := strings.TrimSpace(w.rows(`SELECT number FROM asset WHERE id = ?`, id(s)))
			return [2]*asset.Command{update(s, "Owners", m), update(m, "OwnedWorkitems", name)}
		}},
		{"remove", func(w *harness) [2]*asset.Command {
			s, m := w.story(), w.member()
			w.must(update(s, "Owners", m))
			return [2]*asset.Command{update(s, "-Owners", m), update(m, "-OwnedWorkitems", s)}
		}},
		{"join", func(w *harness) [2]*asset.Command {
			p, m := w.project(), w.member()
			return [2]*asset.Command{update(p, "Members", m), update(m, "Scopes", p)}
		}},
		{"assign", func(w *harness) [2]*asset.Command {
			p, m := w.project(), w.member()
			return [2]*asset.Command{
				operate(p, "AssignMemberWithRole", "Member", m, "Role", "Role:3"),
				operate(m, "AssignToScopeWithRole", "Scope", p, "Role", "Role:4"),
			}
		}},
		{"assign and join", func(w *harness) [2]*asset.Command {
			p, m := w.project(), w.member()
			return [2]*asset.Command{operate(m, "AssignToScopeWithRole", "Scope", p, "Role", "Role:3"), update(p, "Members", m)}
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			each(t, func(_ *testing.T, w *harness) {
				for range 12 {
					pair := c.pair(w)
					w.together(len(pair), func(i int) []*asset.Command { return []*asset.Command{pair[i]} })
				}
				w.expect("0\n", `SELECT COUNT(*) FROM asset_link a JOIN asset_link b ON b.relation = a.relation AND b.from_type = a.from_type
 AND b.from_id = a.from_id AND b.to_id = a.to_id AND b.since_moment > a.since_moment AND b.since_moment < a.until_moment`)
				w.expect("0\n", `SELECT COUNT(*) FROM (SELECT scope_id FROM scope_member WHERE until_moment = 9223372036854775807 GROUP BY scope_id, member_id HAVING COUNT(*) > 1) x`)
				w.consistent()
			})
		})
	}
}

func (w *harness) story() string {
	return w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
}

func (w *harness) project() string {
	return w.must(create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"))[0]
}

func (w *harness) member() string {
	return w.must(create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Role:4"))[0]
}

// If a part is created while its owner is being deleted, the part is deleted with the owner or not
// created.
func TestPartOfWhatIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		for range 12 {
			whole := w.must(create("BuildProject", "@b", "Name", "B"))[0]
			var wait sync.WaitGroup
			for _, c := range []*asset.Command{create("BuildRun", "@r", "Name", "R", "BuildProject", whole), operate(whole, "Delete")} {
				wait.Go(func() {
					err := w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
						_, err := s.Run(t.Context(), []*asset.Command{c})
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
		}
		w.expect("0\n", `SELECT COUNT(*) FROM asset_link l JOIN asset r ON r.id = l.from_id JOIN asset b ON b.id = l.to_id WHERE l.relation = 67 AND r.state < 255 AND b.state = 255`)
	})
}

// If one request puts a story below an epic while another request deletes that epic with EpicToStory,
// one of the two requests fails.
func TestChildOfTheEpicThatIsAStoryAgain(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		for range 12 {
			story := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
			w.must(operate(story, "StoryToEpic"))
			var epic int64
			if err := w.d.QueryRow(t.Context(), `SELECT MAX(id) FROM asset`).Scan(&epic); err != nil {
				t.Fatal(err)
			}
			child := create("Story", "@c", "Name", "C", "Scope", "Scope:0", "Super", fmt.Sprint("Epic:", epic))
			errs := make([]error, 2)
			var wait sync.WaitGroup
			for i, c := range []*asset.Command{operate(story, "EpicToStory"), child} {
				wait.Go(func() {
					errs[i] = w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
						done, err := s.Run(t.Context(), []*asset.Command{c})
						return errors.Join(err, done[0].Err)
					})
				})
			}
			wait.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Fatalf("EpicToStory: %v; the story below: %v", errs[0], errs[1])
			}
		}
	})
}

func TestRequestIDIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		req := asset.Request{ID: uuid.NewString()}
		nothing := func(*asset.Session) error { return nil }
		if err := w.e.Write(t.Context(), auth.System, req, nothing); err != nil {
			t.Fatal(err)
		}
		if err := w.e.Write(t.Context(), auth.System, req, nothing); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second request with the same id: %v", err)
		}
	})
}

// If the answer to a commit was lost, the audit row shows whether the commit happened. A request
// that was reported as not committed is never committed later.
func TestLostCommitAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		audits, lost := audit.New(w.d), errors.New("connection lost")
		written := asset.Request{ID: uuid.NewString()}
		if err := w.e.Write(t.Context(), auth.System, written, func(*asset.Session) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := audits.Outcome(t.Context(), auth.System.Member, written.ID, lost); err != nil {
			t.Errorf("a request that was committed: %v", err)
		}
		late := asset.Request{ID: uuid.NewString()}
		err := audits.Outcome(t.Context(), auth.System.Member, late.ID, lost)
		if fault.KindOf(err) != fault.Transient || !errors.Is(err, lost) {
			t.Errorf("a request that was not: %v", err)
		}
		err = w.e.Write(t.Context(), auth.System, late, func(*asset.Session) error { return nil })
		if fault.KindOf(err) != fault.Conflict {
			t.Errorf("a request of which was said that it did not happen: %v", err)
		}
	})
}
