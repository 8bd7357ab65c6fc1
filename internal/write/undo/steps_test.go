package undo_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/bulk"
	"github.com/alds-dev/alds/internal/write/undo"
)

// closed is a bulk.Actors of members that may no longer log in.
type closed struct{ system }

func (closed) MayLogin(context.Context, int64) (bool, error) { return false, nil }

// both takes back requests at once in one new world, and in steps of one asset in another.
func both(t *testing.T, name string, do func(w *world) []string) {
	t.Run(name, func(t *testing.T) {
		w := newWorld(t, testdb.SQLite(t))
		ids := do(w)
		last := w.lastID()
		a, err := w.take(auth.System, requestIDs(ids))
		if err != nil {
			t.Fatal(err)
		}
		want := w.state(last)
		v := newWorld(t, testdb.SQLite(t))
		ids = do(v)
		v.assets.MaxAssets = 3
		id := v.accept(requestIDs(ids))
		async := v.async()
		if _, err := async.Execute(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		b, err := async.Progress(t.Context(), auth.System, id)
		var s answer
		if err == nil {
			v.read(b, &s)
		}
		if s.Undone != a.Undone {
			t.Errorf("undone: at once %v, in steps %v", a.Undone, s.Undone)
		}
		if diff := cmp.Diff(want, v.state(last)); diff != "" {
			t.Errorf("(-at once +in steps):\n%s", diff)
		}
	})
}

// pad writes some assets, so that an undo has several steps; they are taken back first or in the middle.
func (w *world) pad() []string {
	var ids []string
	for i := range 4 {
		ids = append(ids, w.must(fmt.Sprintf(`{"AssetType":"Issue","Name":"pad %d","Scope":"Scope:0"}`, i)).RequestID)
	}
	return ids
}

// TestStepsLikeAtOnce takes back writes whose changes depend on each other, at once and in steps.
func TestStepsLikeAtOnce(t *testing.T) {
	both(t, "new project renamed after a new story in it", func(w *world) []string {
		p := w.must(`{"AssetType":"Scope","Name":"P","Parent":"Scope:0","BeginDate":"2026-01-01"}`)
		at := p.AssetsCreated.OIDTokens[0]
		s := w.must(`{"AssetType":"Story","Name":"S","Scope":"` + at + `"}`)
		r := w.must(`{"from":"` + at + `","update":{"Name":"Q"}}`)
		return append(w.pad(), p.RequestID, s.RequestID, r.RequestID)
	})
	both(t, "new story renamed after a new task", func(w *world) []string {
		p := w.must(`{"AssetType":"Story","Name":"P","Scope":"Scope:0"}`)
		at := p.AssetsCreated.OIDTokens[0]
		s := w.must(`{"AssetType":"Task","Name":"S","Parent":"` + at + `"}`)
		r := w.must(`{"from":"` + at + `","update":{"Name":"Q"}}`)
		return append(w.pad(), p.RequestID, s.RequestID, r.RequestID)
	})
	both(t, "new task of a moved story", func(w *world) []string {
		p := w.project("P")
		s := w.story("S", "Scope:0")
		x := w.must(`{"from":"` + s + `","update":{"Scope":"` + p + `"}}`).RequestID
		y := w.must(`{"AssetType":"Task","Name":"T","Parent":"` + s + `"}`).RequestID
		return append(w.pad(), x, y)
	})
	both(t, "relation away, then the target restored", func(w *world) []string {
		e, f := w.one(`{"AssetType":"Epic","Name":"E",`+scope+`}`), w.one(`{"AssetType":"Epic","Name":"F",`+scope+`}`)
		s := w.one(`{"AssetType":"Story","Name":"S",` + scope + `,"Super":"` + e + `"}`)
		w.must(`{"from":"` + e + `","execute":"Delete"}`)
		x := w.must(`{"from":"` + s + `","update":{"Super":"` + f + `"}}`).RequestID
		y := w.must(`{"from":"` + e + `","where":{"IsDeleted":true},"execute":"Undelete"}`).RequestID
		return append(w.pad(), x, y)
	})
	both(t, "task deleted, then its story", func(w *world) []string {
		s := w.story("S", "Scope:0")
		k := w.one(`{"AssetType":"Task","Name":"T","Parent":"` + s + `"}`)
		x := w.must(`{"from":"` + k + `","execute":"Delete"}`).RequestID
		y := w.must(`{"from":"` + s + `","execute":"Delete"}`).RequestID
		return append(w.pad(), x, y)
	})
	both(t, "story deleted, then its project", func(w *world) []string {
		p := w.project("P")
		s := w.story("S", p)
		x := w.must(`{"from":"` + s + `","execute":"Delete"}`).RequestID
		y := w.must(`{"from":"` + p + `","execute":"Delete"}`).RequestID
		return append(w.pad(), x, y)
	})
	both(t, "epic renamed, deleted by an accepted request (random id), story moved off", func(w *world) []string {
		e, f := w.one(`{"AssetType":"Epic","Name":"E",`+scope+`}`), w.one(`{"AssetType":"Epic","Name":"F",`+scope+`}`)
		s := w.one(`{"AssetType":"Story","Name":"S",` + scope + `,"Super":"` + e + `"}`)
		x := w.must(`{"from":"` + e + `","update":{"Name":"E2"}}`).RequestID
		y := w.must(`{"from":"` + e + `","execute":"Delete"}`).RequestID
		z := w.must(`{"from":"` + s + `","update":{"Super":"` + f + `"}}`).RequestID
		const id = "00000000-0000-4000-8000-000000000001" // accepted requests have random ids
		if _, err := w.d.Exec(t.Context(), `UPDATE audit SET request_id = ? WHERE request_id = ?`, id, y); err != nil {
			t.Fatal(err)
		}
		return append(w.pad(), x, id, z)
	})
}

// TestStepsOfATime takes back what a member has written in a time. The steps and later writes are left out.
func TestStepsOfATime(t *testing.T) {
	run := func(name, until string, since string, skew time.Duration) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testdb.SQLite(t))
			var old []string
			for i := range 3 {
				old = append(old, w.story(fmt.Sprintf("D%d", i), "Scope:0"))
			}
			time.Sleep(20 * time.Millisecond)
			if since == "" {
				since = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
			}
			time.Sleep(20 * time.Millisecond)
			for _, o := range old {
				w.must(`{"from":"` + o + `","execute":"Delete"}`)
			}
			made := []string{w.story("N1", "Scope:0"), w.story("N2", "Scope:0"), w.story("N3", "Scope:0")}
			w.assets.MaxAssets = 2
			body := fmt.Sprintf(`{"by":"Member:20","since":%q%s}`, since, until)
			id := w.accept(body)
			if skew != 0 {
				if _, err := w.d.Exec(t.Context(), `UPDATE bulk_request SET created_at = created_at + ? WHERE id = ?`, skew.Microseconds(), id); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := w.later(id)
			if n := w.live(made); n != 0 {
				t.Errorf("%d of 3 new stories are left, undone is %v", n, a.Undone)
			}
			if n := w.live(old); n != 3 {
				t.Errorf("%d of 3 deleted stories are back", n)
			}
			if len(a.Requests.IDs) != 6 {
				t.Errorf("%d requests, want 6", len(a.Requests.IDs))
			}
		})
	}
	run("plain", "", "", 0)
	run("until in the future", `,"until":"2099-01-01T00:00:00Z"`, "", 0)
	run("clock of the accepting process is ahead of the database", "", "", 5*time.Second)

	t.Run("since 1970, a later write of the member", func(t *testing.T) {
		w := newWorld(t, testdb.SQLite(t))
		tokens, _ := w.stories(4, 1)
		id := w.accept(`{"by":"Member:20","since":"1970-01-01T00:00:00Z","conflicts":"skip"}`)
		later := w.story("later", "Scope:0")
		time.Sleep(5 * time.Millisecond)
		w.later(id)
		if w.live([]string{later}) != 1 || w.live(tokens) != 0 {
			t.Errorf("written after the undo was accepted: %d left; before: %d left", w.live([]string{later}), w.live(tokens))
		}
	})
	t.Run("until 1970 at once", func(t *testing.T) {
		w := newWorld(t, testdb.SQLite(t))
		s := w.story("S", "Scope:0")
		a, err := w.take(auth.System, `{"by":"Member:20","since":"1969-01-01T00:00:00Z","until":"1970-01-01T00:00:00Z","conflicts":"skip"}`)
		if w.live([]string{s}) != 1 {
			t.Errorf("taken back: %+v %v", a, err)
		}
	})
}

// TestStoppedSteps ends undos after a step. The answer says how far they went.
func TestStoppedSteps(t *testing.T) {
	begin := func(t *testing.T) (w *world, id string) {
		w = newWorld(t, testdb.SQLite(t))
		_, ids := w.stories(12, 1)
		w.assets.MaxAssets = 8
		id = w.accept(requestIDs(ids))
		claim, err := w.assets.Requests.ClaimByID(t.Context(), id)
		if err != nil || claim == nil {
			t.Fatal(err)
		}
		if more, err := w.undo.Step(t.Context(), auth.System, undo.Request{Body: []byte(requestIDs(ids))}, claim); err != nil || !more {
			t.Fatal(more, err)
		}
		if err := claim.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w, id
	}
	says := func(t *testing.T, w *world, id string) {
		b, err := w.async().Progress(t.Context(), auth.System, id)
		var s steps
		_ = json.Unmarshal(b, &s)
		if err != nil || s.Steps.Count != 1 || s.Steps.Done != 4 {
			t.Errorf("one step is done, and the answer does not say so: %s %v", b, err)
		}
	}
	t.Run("login lost between steps", func(t *testing.T) {
		w, id := begin(t)
		async := bulk.NewAsync(w.bulk, closed{}, nil, slog.New(slog.DiscardHandler))
		if _, err := async.Execute(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		says(t, w, id)
	})
	t.Run("second step too slow twice", func(t *testing.T) {
		w, id := begin(t)
		async := bulk.NewAsync(w.bulk, system{}, nil, slog.New(slog.DiscardHandler))
		async.Timeout = time.Nanosecond
		for range 2 {
			if _, err := async.Execute(t.Context(), id); err != nil {
				t.Log(err)
			}
			if _, err := w.d.Exec(t.Context(), `UPDATE bulk_request SET lease = 0`); err != nil {
				t.Fatal(err)
			}
		}
		says(t, w, id)
	})
	t.Run("second step crashes five times", func(t *testing.T) {
		w, id := begin(t)
		for range 6 {
			c, err := w.assets.Requests.ClaimByID(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if c == nil {
				break
			}
			if _, err := w.d.Exec(t.Context(), `UPDATE bulk_request SET lease = -1000000000`); err != nil {
				t.Fatal(err)
			}
		}
		says(t, w, id)
	})
	t.Run("a preview and then the undo with the same key", func(t *testing.T) {
		w := newWorld(t, testdb.SQLite(t))
		_, ids := w.stories(2, 1)
		r := undo.Request{Body: []byte(requestIDs(ids)), Key: "k", Preview: true}
		async := w.async()
		a, err := async.AcceptUndo(t.Context(), auth.System, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := async.Execute(t.Context(), a.ID); err != nil {
			t.Fatal(err)
		}
		r.Preview = false
		before := w.state(w.lastID())
		b, err := w.undo.Run(t.Context(), auth.System, r)
		var got answer
		if err == nil {
			w.read(b, &got)
		}
		if got.Undone && cmp.Equal(before, w.state(w.lastID())) {
			t.Errorf("the answer is undone, and nothing was: %s", b)
		}
	})
	t.Run("lease lost between the commit of a step and its release", func(t *testing.T) {
		w := newWorld(t, testdb.SQLite(t))
		_, ids := w.stories(12, 1)
		w.assets.MaxAssets = 8
		id := w.accept(requestIDs(ids))
		async := bulk.NewAsync(w.bulk, system{}, nil, slog.New(slog.DiscardHandler))
		async.Again = func(ctx context.Context, do func(*bulk.Engine) error) error {
			err := do(w.bulk)
			_, _ = w.d.Exec(ctx, `UPDATE bulk_request SET lease = 0`)
			_, _ = w.assets.Requests.ClaimByID(ctx, id)
			return err
		}
		if _, err := async.Execute(t.Context(), id); err != nil {
			t.Errorf("Execute: %v", err)
		}
	})
}

// TestOddRequestIDs does not find ids that are no UUIDs.
func TestOddRequestIDs(t *testing.T) {
	each(t, func(w *world) {
		_, err := w.take(auth.System, `{"requestId":"é"}`)
		if k := fault.KindOf(err); k != fault.NotFound && k != fault.Invalid {
			t.Errorf("%v: %v", k, err)
		}
	})
}
