package difftest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/oid"
)

// moments tests the queries of webhooks, which are about versions of assets: which versions match a filter,
// and one row for each version. Each version is read as of its own moment. The versions include those of
// deleted assets.
func (r *run) moments() {
	r.Helper()
	q, who := r.questioner(), r.member()
	a := &ask{From: q.rowType().Name}
	q.with = map[string]any{}
	e := &evaluator{w: r.w, who: who}
	f := e.from(a.From)
	for range 1 + q.IntN(3) {
		if s := q.path(f.typ, 2, anything).text; !slices.Contains(a.Select, any(s)) {
			a.Select = append(a.Select, s)
		}
	}
	a.Filter = []string{q.filter(f.typ, 2, 1)}
	a.With = q.with
	var at []node
	for _, n := range (&evaluator{w: r.w, who: auth.System}).candidates(e.from("BaseAsset"), "All") {
		if n.moment > 0 && q.chance(30) {
			at = append(at, n)
		}
	}
	if r.differsAt(a, f, who, at) == "" {
		return
	}
	small := shrink(a, func(b *ask) bool { return r.differsAt(b, f, who, at) != "" })
	r.Errorf("versions: %s\nas member %d, all %v, scopes %v: %s", small, who.Member, who.All, who.Scopes, r.differsAt(small, f, who, at))
}

// differsAt describes the first version for which the answers differ, or returns "" if no answer differs.
func (r *run) differsAt(a *ask, f from, who auth.Actor, at []node) string {
	e := &evaluator{w: r.w, who: who, with: variables(a.With)}
	var want []string
	var oids []oid.OID
	for _, n := range at {
		oids = append(oids, oid.OID{Type: n.typ.Name, ID: n.typ.Shown(n.id), Moment: n.moment})
		seen := n.typ.IsA(f.typ) && e.sees(n)
		row := ""
		if seen {
			row = strings.Trim(string(e.rows(nil, f, a, []node{n})), "[]")
		}
		want = append(want, fmt.Sprint(seen && e.fits(f, a, n), row))
	}
	for _, s := range r.servers {
		got, err := s.at(who, f.typ.Name, a, oids)
		if err != nil {
			if refused(err) {
				return ""
			}
			return fmt.Sprintf("\n%s: %v", s.name, err)
		}
		for i := range want {
			if row := strings.Trim(got[i], "[]"); row != want[i] {
				return fmt.Sprintf("\nof %v\nwant   %s\n%-6s %s", oids[i], want[i], s.name, row)
			}
		}
	}
	return ""
}

// at returns the answer of the engine for each version: whether the version matches, and its row.
func (s *server) at(who auth.Actor, typ string, a *ask, at []oid.OID) ([]string, error) {
	match, err := s.finder.Matching(context.Background(), nil, who, typ, a.Filter, variables(a.With), at)
	if err != nil {
		return nil, err
	}
	sel := []string{}
	for _, item := range a.Select {
		sel = append(sel, item.(string))
	}
	snapshots, err := s.finder.Snapshot(context.Background(), nil, who, typ, sel, at)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(at))
	for i := range at {
		all[i] = fmt.Sprint(match[i], string(snapshots[i]))
	}
	return all, nil
}
