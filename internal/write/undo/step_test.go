package undo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/requests"
	"github.com/alds-dev/alds/internal/write/undo"
)

// system is a bulk.Actors for which every member is a system administrator.
type system struct{}

func (system) MayLogin(context.Context, int64) (bool, error) { return true, nil }

func (system) ActorWithin(context.Context, int64, *auth.Bounds) (auth.Actor, error) {
	return auth.System, nil
}

func (system) Watch(ctx context.Context, _ auth.Login, _ auth.Actor) (context.Context, func()) {
	return ctx, func() {}
}

func (w *world) async() *bulk.Async {
	return bulk.NewAsync(w.bulk, system{}, nil, slog.New(slog.DiscardHandler))
}

// steps is the part of an answer that only undos in several steps have.
type steps struct {
	Error string
	Steps struct {
		IDs             []string
		Count, Done, Of int
	}
}

// accept accepts an undo, and returns its id.
func (w *world) accept(body string) string {
	w.t.Helper()
	a, err := w.async().AcceptUndo(w.t.Context(), auth.System, undo.Request{Body: []byte(body)})
	if err != nil {
		w.t.Fatal(err)
	}
	return a.ID
}

// later carries out an accepted undo, and returns its answer.
func (w *world) later(id string) (a answer, s steps) {
	w.t.Helper()
	async := w.async()
	if _, err := async.Execute(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
	b, err := async.Progress(w.t.Context(), auth.System, id)
	if err != nil {
		w.t.Fatal(err)
	}
	w.read(b, &a)
	w.read(b, &s)
	if a.Undone == undo.IsRefused(b) {
		w.t.Fatalf("undone is %v: %s", a.Undone, b)
	}
	return a, s
}

// stories makes stories, and changes each in one of several writes. It returns the tokens, oldest first, and
// the ids of the writes.
func (w *world) stories(n, writes int) (tokens, ids []string) {
	w.t.Helper()
	var commands []string
	for i := range n {
		commands = append(commands, fmt.Sprintf(`{"AssetType":"Story","Name":"old %d","Scope":"Scope:0"}`, i))
	}
	tokens = w.must(commands...).AssetsCreated.OIDTokens
	for part := range slices.Chunk(tokens, n/writes) {
		commands = nil
		for _, token := range part {
			commands = append(commands, fmt.Sprintf(`{"from":%q,"update":{"Name":"new","Reference":"R"}}`, token))
		}
		ids = append(ids, w.must(commands...).RequestID)
	}
	return tokens, ids
}

func requestIDs(ids []string) string {
	b, _ := json.Marshal(map[string]any{"requestId": ids})
	return string(b)
}

// TestSteps takes back more than one request may change, and takes back the undo.
func TestSteps(t *testing.T) {
	each(t, func(w *world) {
		_, ids := w.stories(36, 4)
		last := w.lastID()
		after := w.state(last)
		undone := w.back(ids...).RequestID
		before := w.state(last)
		ids = []string{w.back(undone).RequestID}
		w.assets.MaxAssets = 10
		if _, err := w.take(auth.System, requestIDs(ids)); fault.KindOf(err) != fault.Invalid {
			t.Fatalf("at once: %v", err)
		}
		a, s := w.later(w.accept(requestIDs(ids)))
		if !a.Undone || a.AssetsModified.Count != 36 || len(a.AssetsModified.OIDTokens) != 36 || s.Steps.Count != 8 || s.Steps.Done != 36 ||
			s.Steps.Of != 36 || !slices.Equal(a.Requests.IDs, ids) {
			t.Fatalf("%+v %+v", a, s)
		}
		if diff := cmp.Diff(before, w.state(last)); diff != "" {
			t.Fatalf("after the undo (-want +got):\n%s", diff)
		}
		a, s = w.later(w.accept(requestIDs(s.Steps.IDs)))
		if !a.Undone || a.AssetsModified.Count != 36 || len(a.Requests.IDs) != 8 {
			t.Fatalf("redo: %+v %+v", a, s)
		}
		if diff := cmp.Diff(after, w.state(last)); diff != "" {
			t.Fatalf("after the redo (-want +got):\n%s", diff)
		}
	})
}

// TestOneStep carries out a small undo later, with the answer that it has at once.
func TestOneStep(t *testing.T) {
	each(t, func(w *world) {
		_, ids := w.stories(4, 1)
		id := w.accept(requestIDs(ids))
		a, s := w.later(id)
		if !a.Undone || a.RequestID != id || a.AssetsModified.Count != 4 || s.Steps.Count != 0 {
			t.Errorf("%+v %+v", a, s)
		}
		if a, s = w.later(w.accept(requestIDs([]string{id}))); !a.Undone || a.AssetsModified.Count != 4 {
			t.Errorf("redo: %+v %+v", a, s)
		}
	})
}

// TestWritesInTheTimeOfTheSteps takes back what a member has written until now. The steps are writes of the
// same member, and are left out.
func TestWritesInTheTimeOfTheSteps(t *testing.T) {
	each(t, func(w *world) {
		tokens, _ := w.stories(12, 2)
		w.assets.MaxAssets = 6
		a, s := w.later(w.accept(`{"by":"Member:20","since":"2026-01-01T00:00:00Z"}`))
		if !a.Undone || s.Steps.Count != 4 || a.AssetsModified.Count != 12 || len(a.Requests.IDs) != 3 {
			t.Errorf("%+v %+v", a, s)
		}
		if n := w.live(tokens); n != 0 {
			t.Errorf("%d stories are left", n)
		}
	})
}

// live returns how many of some assets are not deleted.
func (w *world) live(tokens []string) (n int) {
	w.t.Helper()
	var ids []string
	for _, token := range tokens {
		_, id, _ := strings.Cut(token, ":")
		ids = append(ids, id)
	}
	if err := w.d.QueryRow(w.t.Context(), `SELECT COUNT(*) FROM asset WHERE state < 255 AND id IN (`+strings.Join(ids, ",")+`)`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestConflictInALaterStep stops an undo at a conflict. The steps before it stay.
func TestConflictInALaterStep(t *testing.T) {
	each(t, func(w *world) {
		tokens, ids := w.stories(20, 1)
		w.must(fmt.Sprintf(`{"from":%q,"update":{"Name":"newer"}}`, tokens[5]), fmt.Sprintf(`{"from":%q,"update":{"Name":"newer"}}`, tokens[12]))
		last := w.lastID()
		before := w.state(last)
		w.assets.MaxAssets = 8
		a, s := w.later(w.accept(requestIDs(ids)))
		if a.Undone || a.AssetsModified.Count != 4 || a.Conflicts.Count != 1 || a.Conflicts.List[0].Asset != tokens[12] ||
			s.Steps.Count != 1 || s.Steps.Done != 4 || s.Steps.Of != 20 || s.Error != "4 of 20 assets were undone, then the undo stopped: 1 conflict" {
			t.Fatalf("%+v %+v", a, s)
		}
		if back, _ := w.later(w.accept(requestIDs(s.Steps.IDs))); !back.Undone {
			t.Fatalf("%+v", back)
		}
		if diff := cmp.Diff(before, w.state(last)); diff != "" {
			t.Fatalf("after the redo (-want +got):\n%s", diff)
		}
		a, s = w.later(w.accept(`{"requestId":"` + ids[0] + `","conflicts":"skip"}`))
		if !a.Undone || a.AssetsModified.Count != 20 || a.Conflicts.Count != 2 || s.Steps.Count != 5 {
			t.Errorf("%+v %+v", a, s)
		}
	})
}

// TestStepsOfSeveralProcesses ends a process after its first step. Another one continues with the second.
func TestStepsOfSeveralProcesses(t *testing.T) {
	each(t, func(w *world) {
		_, ids := w.stories(12, 1)
		w.assets.MaxAssets = 8
		id := w.accept(requestIDs(ids))
		for i := range 2 {
			claim, err := w.assets.Requests.ClaimByID(t.Context(), id)
			if err != nil || claim == nil {
				t.Fatalf("no claim: %v", err)
			}
			more, err := w.undo.Step(t.Context(), auth.System, undo.Request{Body: []byte(requestIDs(ids))}, claim)
			if err != nil || !more {
				t.Fatalf("step %d: %v %v", i, more, err)
			}
			if b, err := w.async().Progress(t.Context(), auth.System, id); err != nil || !strings.Contains(string(b), fmt.Sprintf(`"commands":12,"done":%d}`, 4*(i+1))) {
				t.Errorf("progress: %s %v", b, err)
			}
			w.expire(claim)
		}
		a, s := w.later(id)
		if !a.Undone || a.AssetsModified.Count != 12 || s.Steps.Count != 3 {
			t.Errorf("%+v %+v", a, s)
		}
	})
}

// expire ends the lease of a claim, as time does after its process has ended.
func (w *world) expire(c *requests.Claim) {
	w.t.Helper()
	if _, err := w.d.Exec(w.t.Context(), `UPDATE bulk_request SET lease = 0 WHERE id = ?`, c.ID); err != nil {
		w.t.Fatal(err)
	}
}

// TestAnAcceptedUndoIsBounded refuses an undo of more assets than ten requests may change, and one that needs
// more memory than it may have.
func TestAnAcceptedUndoIsBounded(t *testing.T) {
	w := newWorld(t, testdb.SQLite(t))
	_, ids := w.stories(22, 1)
	w.assets.MaxAssets = 2
	async := w.async()
	refused := func(want string) {
		t.Helper()
		id := w.accept(requestIDs(ids))
		s, err := async.Execute(t.Context(), id)
		if err != nil || fault.KindOf(s.Err) != fault.Invalid || !strings.Contains(s.Err.Error(), want) {
			t.Errorf("%v, %v; want %s", err, s.Err, want)
		}
	}
	refused("20")
	w.assets.MaxAssets = 20
	async.Memory = memory.NewBudget(8000)
	refused("memory")
}
