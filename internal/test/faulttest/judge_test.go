package faulttest

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
)

// left is what a request has stored: the number of its audit rows and of its versions of assets.
type left struct{ audits, versions int }

// judge finds out from the database which requests were executed. It compares that with their answers, and
// with what a client reads.
func judge(t *testing.T, s *site, authors []*author) {
	t.Helper()
	var of map[string]left
	s.each(`SELECT a.comment, COUNT(DISTINCT a.id), COUNT(v.id) FROM audit a LEFT JOIN asset_version v ON v.audit_id = a.id
		WHERE a.comment IS NOT NULL GROUP BY a.comment`, func() { of = map[string]left{} }, func(rows *db.Rows) error {
		var mark string
		var l left
		err := rows.Scan(&mark, &l.audits, &l.versions)
		of[mark] = l
		return err
	})
	tally, again, later := map[string]int{}, 0, 0
	for _, a := range authors {
		for _, bad := range a.bad {
			t.Errorf("%s", bad)
		}
		for _, r := range a.requests {
			r.weigh(t, of[r.mark])
			what := "absent"
			switch {
			case r.whole:
				what = "whole"
			case r.kind == atomicFails && r.outcome == done:
				what = "absent, as an atomic one with a failed command is"
			}
			tally[fmt.Sprintf("%s and %s", r.outcome, what)]++
			switch {
			case r.with["Prefer"] != "":
				later++
			case r.sent > 1:
				again++
			}
		}
		a.compare(t)
	}
	for _, what := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%5d requests %s", tally[what], what)
	}
	t.Logf("%5d of them were sent more than once under one key, %d carried out by the worker", again, later)
}

// weigh sets whole: whether the request was executed. It fails the test if the request was executed in part
// or more than once, or if its answer does not match. l is what the request has stored.
func (r *request) weigh(t *testing.T, l left) {
	t.Helper()
	want := map[string]int{create: 3 * perBlock, update: perBlock, remove: 3 * perBlock, atomic: 4 * perBlock}[r.kind]
	switch {
	case l.audits > 1:
		t.Errorf("%s (%s) was done %d times", r.mark, r.kind, l.audits)
	case l.versions != 0 && l.versions != want:
		t.Errorf("%s (%s) is half done: %d of %d versions", r.mark, r.kind, l.versions, want)
	}
	r.whole = l.versions != 0
	if r.outcome == done && !r.whole && r.kind != atomicFails || (r.outcome == nothing || r.outcome == refused) && r.whole {
		t.Errorf("%s (%s) was %s and left %d versions", r.mark, r.kind, r.outcome, l.versions)
	}
}

// seen is a story as a client reads it.
type seen struct {
	Reference, Estimate string
	Owners, Children    []struct{}
}

// compare reads the stories of an author as a client does. It fails the test if they are not the result of
// the executed requests.
func (a *author) compare(t *testing.T) {
	t.Helper()
	var sets [][]seen
	a.s.mustPost("/query.v1", map[string]any{
		"from": "Story", "where": map[string]any{"Scope": a.project}, "select": []string{"Reference", "Estimate", "Owners", "Children"},
	}, &sets)
	of := map[string][]seen{}
	for _, row := range sets[0] {
		of[row.Reference] = append(of[row.Reference], row)
	}
	for _, b := range a.blocks {
		b.expect(t, of)
	}
	for mark, rows := range of {
		t.Errorf("there are %d stories of %q, which nobody made", len(rows), mark)
	}
}

// expect compares the stories of the block with the executed requests of the block. It removes these
// stories from the parameter of, a map whose key is the mark of a request.
func (b *block) expect(t *testing.T, of map[string][]seen) {
	t.Helper()
	stories, value := 0, 0
	for _, r := range b.requests {
		switch {
		case !r.whole:
		case r.kind == create:
			stories, value = perBlock, r.value
		case r.kind == remove:
			stories = 0
		case r.kind == atomic:
			value = r.value
			same(t, r.mark, of[r.mark], perBlock, r.value)
			delete(of, r.mark)
		default:
			value = r.value
		}
	}
	same(t, b.mark, of[b.mark], stories, value)
	delete(of, b.mark)
}

func same(t *testing.T, mark string, rows []seen, stories, value int) {
	t.Helper()
	var wrong []string
	for _, row := range rows {
		if len(row.Owners) != 1 || len(row.Children) != 2 || !is(row.Estimate, value) {
			wrong = append(wrong, fmt.Sprintf("%+v", row))
		}
	}
	if len(rows) != stories || wrong != nil {
		t.Errorf("of %s there are %d stories, want %d with Estimate %d; wrong: %.300s", mark, len(rows), stories, value, strings.Join(wrong, " "))
	}
}

func is(text string, value int) bool {
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f == float64(value)
}
