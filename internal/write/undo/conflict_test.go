package undo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// cell is one value that is stored for an asset: a column, a key of attrs, the target of a relation
// with one value, or one value of an attribute with several values.
type cell struct{ asset, name string }

// cells returns all cells with their values.
func (w *world) cells() map[cell]string {
	w.t.Helper()
	all := map[cell]string{}
	columns := []string{"id", "type", "state", "attrs"}
	for _, c := range w.model.Columns {
		columns = append(columns, c.Name)
	}
	w.each(`SELECT `+strings.Join(columns, ", ")+` FROM asset`, len(columns), func(v []any) {
		t, _ := w.model.TypeByCode(int(v[1].(int64)))
		asset := fmt.Sprintf("%s:%d", t.Name, t.Shown(v[0].(int64)))
		for i, c := range columns {
			switch {
			case i < 2 || v[i] == nil:
			case c == "attrs":
				var object map[string]any
				_ = json.Unmarshal([]byte(fmt.Sprint(v[i])), &object)
				for key, x := range object {
					all[cell{asset, key}] = fmt.Sprint(x)
				}
			default:
				all[cell{asset, c}] = fmt.Sprint(v[i])
			}
		}
	})
	w.each(`SELECT l.relation, a.type, a.id, l.to_id FROM asset_link l JOIN asset a ON a.id = l.from_id WHERE l.until_moment = `+fmt.Sprint(db.Forever), 4, func(v []any) {
		a, ok := w.model.LinkByCode(int(v[0].(int64)))
		if !ok {
			return
		}
		t, _ := w.model.TypeByCode(int(v[1].(int64)))
		asset := fmt.Sprintf("%s:%d", t.Name, t.Shown(v[2].(int64)))
		if a.Multi {
			all[cell{asset, fmt.Sprint(a.Name, " ", v[3])}] = "yes"
		} else {
			all[cell{asset, a.Name}] = fmt.Sprint(v[3])
		}
	})
	w.each(`SELECT a.type, a.id, v.attribute, v.value FROM asset_value v JOIN asset a ON a.id = v.from_id WHERE v.until_moment = `+fmt.Sprint(db.Forever), 4, func(v []any) {
		t, _ := w.model.TypeByCode(int(v[0].(int64)))
		all[cell{fmt.Sprintf("%s:%d", t.Name, t.Shown(v[1].(int64))), fmt.Sprint("value ", v[2], " ", v[3])}] = "yes"
	})
	return all
}

// each calls take with the cells of each row.
func (w *world) each(query string, columns int, take func(v []any)) {
	w.t.Helper()
	err := db.Each(w.t.Context(), w.d, query, nil, func(scan db.Scanner) error {
		cells, into := make([]any, columns), make([]any, columns)
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := scan.Scan(into...); err != nil {
			return err
		}
		for i, c := range cells {
			if b, ok := c.([]byte); ok {
				cells[i] = string(b)
			}
		}
		take(cells)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWhatChangedSinceStays takes back a random write after another one. What the second write has
// changed stays as it is, and is listed; everything else is as before the first write.
func TestWhatChangedSinceStays(t *testing.T) {
	each(t, func(w *world) {
		runs, rounds := uint64(3), 40
		if testing.Short() {
			runs, rounds = 1, 10
		}
		stays, back := 0, 0
		for seed := range runs {
			g := newGenerator(w.model, 100+seed)
			g.narrow = 2
			g.types = nil
			for _, name := range []string{"Epic", "Story", "Task", "Theme"} {
				t, _ := w.model.Type(name)
				g.types = append(g.types, t)
			}
			for range rounds {
				s, b := w.since(g)
				stays, back = stays+s, back+b
			}
		}
		if all := int(runs) * rounds; stays < all/8 || back < 2*all {
			t.Errorf("%d rounds had %d conflicts and %d values that came back", all, stays, back)
		}
	})
}

// since runs two writes and takes back the first. It returns how many cells were in conflict, and how
// many came back.
func (w *world) since(g *generator) (stays, back int) {
	w.t.Helper()
	commands := func(n int) (all []string) {
		for range n {
			all = append(all, g.command())
		}
		return all
	}
	before := w.cells()
	first := w.write(commands(8 + g.IntN(8))...)
	between := w.cells()
	for _, token := range first.AssetsCreated.OIDTokens {
		g.add(token)
	}
	second := w.write(commands(8 + g.IntN(8))...)
	for _, token := range first.AssetsCreated.OIDTokens {
		g.remove(token) // it will be deleted
	}
	for _, token := range second.AssetsCreated.OIDTokens {
		g.add(token)
	}
	after := w.cells()
	a, err := w.take(auth.System, `{"conflicts":"skip","requestId":"`+first.RequestID+`"}`)
	if err != nil || !a.Undone {
		w.t.Fatalf("%v %+v", err, a)
	}
	now := w.cells()

	reported, failed := map[string]bool{}, map[string]bool{}
	for _, c := range a.Conflicts.List {
		if reported[c.Asset] = true; c.ChangedBy == "" {
			w.t.Errorf("a conflict without a member: %+v", c)
		}
	}
	for _, f := range a.Failures.List {
		var at struct{ Asset string }
		w.read(f, &at)
		failed[at.Asset] = true
	}
	made := map[string]bool{}
	for c := range between {
		if c.name == "state" && before[c] == "" {
			made[c.asset] = true
		}
	}
	for token := range made {
		if !reported[token] && !failed[token] && now[cell{token, "state"}] != "255" {
			w.t.Errorf("%s is not deleted", token)
		}
	}
	all := map[cell]bool{}
	for _, m := range []map[cell]string{before, between, after, now} {
		for c := range m {
			all[c] = true
		}
	}
	for c := range all {
		if made[c.asset] || failed[c.asset] || w.isCopied(c) {
			continue
		}
		want := after[c]
		switch {
		case before[c] == between[c] || after[c] == before[c]:
		case after[cell{c.asset, "state"}] == "255" && between[cell{c.asset, "state"}] != "255":
			if !reported[c.asset] { // nothing of a deleted asset is taken back
				w.t.Errorf("%v: no conflict is reported", c)
			}
		case after[c] == between[c]:
			if want = before[c]; now[c] == want {
				back++
			}
		default:
			if stays++; !reported[c.asset] {
				w.t.Errorf("%v was %q, %q, %q: no conflict is reported", c, before[c], between[c], after[c])
			}
		}
		if now[c] != want && (c.name != "order_key" || !reported[c.asset]) {
			w.t.Errorf("%v was %q, %q, %q and is %q", c, before[c], between[c], after[c], now[c])
		}
	}
	return stays, back
}

// isCopied reports whether a cell is copied from another asset, or belongs to what no undo takes back.
func (w *world) isCopied(c cell) bool {
	name, _, _ := strings.Cut(c.asset, ":")
	t, _ := w.model.Type(name)
	column, _, _ := strings.Cut(c.name, " ")
	if column == "DefaultRole" || name == "Scope" && column == "Members" {
		return true
	}
	return column == "scope_id" && t.Secured.Via != "" && t.Secured.Via != "Scope" || w.follows(t, column)
}

func (w *world) follows(t *meta.Type, column string) bool {
	for _, name := range t.Follows.Attributes {
		if a, ok := t.Attr(name); ok && a.Place.Column == column {
			return true
		}
	}
	return false
}
