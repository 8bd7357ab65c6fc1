package ui

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// TestUndoOfAVisit checks that the page after a write offers its undo: only to the same session, and only
// if an undo takes it back.
func TestUndoOfAVisit(t *testing.T) {
	const one, two = "0198a7a0-0000-7000-8000-000000000001", "0198a7a0-0000-7000-8000-000000000002"
	visit := func(session, path string, writes ...string) *Visit {
		return &Visit{Session: session, Request: httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil), API: &API{writes: writes}}
	}
	after := func(path string, writes ...string) string { return visit("a", "/", writes...).withUndo(path) }
	if got := after("/ui/x?done=saved"); got != "/ui/x?done=saved" {
		t.Errorf("without a write it leads to %s", got)
	}
	final := visit("a", "/", one)
	if final.CannotUndo(); final.withUndo("/ui/x") != "/ui/x" {
		t.Error("it offers what no undo takes back")
	}
	if got := after("/ui/x", make([]string, MaxUndoWrites+1)...); got != "/ui/x" {
		t.Errorf("after too many writes it leads to %s", got)
	}
	if got := visit("a", after("/ui/x?done=saved", one, two)).undo(); got != one+","+two {
		t.Errorf("the page offers %q", got)
	}
	u, err := url.Parse(after("/ui/x", one))
	if err != nil {
		t.Fatal(err)
	}
	sealed := u.Query().Get("undo")
	for why, v := range map[string]*Visit{
		"another session": visit("b", u.String()),
		"no session":      visit("", u.String()),
		"another write":   visit("a", "/ui/x?undo="+two+sealed[len(one):]),
		"no seal":         visit("a", "/ui/x?undo="+one),
		"no id":           visit("a", "/ui/x?undo=x."+visit("a", "/").undoSeal("x")),
	} {
		if got := v.undo(); got != "" {
			t.Errorf("%s: the page offers %q", why, got)
		}
	}
	if got := visit("a", "/ui/x?sort=name&done=saved&n=3&made=Story:1&undo=x").again(); got != "/ui/x?sort=name" {
		t.Errorf("it leads back to %s", got)
	}
}
