package difftest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// ref returns the value of a column with an id, or nil if the column is empty.
func (n node) ref(column string) any {
	if n.none() {
		return nil
	}
	return n.columns[slices.IndexFunc(n.in.w.m.Columns, func(c meta.Column) bool { return c.Name == column })]
}

// gone reports whether an asset is deleted, or its project is, or a project above that project.
func (n node) gone() bool {
	if n.state == deleted {
		return true
	}
	if n.typ.Secured == (meta.Secured{}) {
		return false
	}
	seen := map[int64]bool{}
	for at := n.in.get(n.ref("scope_id")); !at.none() && !seen[at.id]; at = at.in.get(at.ref("parent_id")) {
		if at.state == deleted {
			return true
		}
		seen[at.id] = true
	}
	return false
}

// isOffered reports whether the state of an asset allows an operation. Rights do not matter.
func (e *evaluator) isOffered(n node, name string) bool {
	op, ok := n.typ.Op(name)
	if !ok {
		return false
	}
	in := op.Effect.From
	if len(op.Effect.Offered) > 0 {
		in = op.Effect.Offered
	}
	if len(in) == 0 && n.state == deleted || len(in) > 0 && !slices.Contains(in, int(n.state)) {
		return false
	}
	if op.Effect.To >= 128 && slices.ContainsFunc(e.w.m.Instances, func(in meta.Instance) bool {
		return in.Type == n.typ && n.typ.Protected != nil && in.Type.Stored(in.ID) == n.id
	}) {
		return false
	}
	if result, ok := e.w.m.Type(op.Effect.Result); ok {
		for _, a := range result.Attrs {
			from, has := n.typ.Attr(a.Name)
			if !a.Required || !a.ToOne() || !has {
				continue
			}
			if to := n.related(from); len(to) == 0 || to[0].gone() {
				return false
			}
		}
	}
	all := &evaluator{w: e.w, who: auth.System}
	return op.Effect.When == "" || all.holds(n, n, n.typ, parse(op.Effect.When))
}

// hiddenDiff checks the table scope_hidden, which the service updates. At every moment it must list exactly
// the projects that are deleted or below a deleted project. It returns a description of the first
// difference, or "" if there is none.
func hiddenDiff(t testing.TB, d *db.DB, w *world) string {
	t.Helper()
	kept := rows(t, d, "SELECT scope_id, since_moment, until_moment FROM scope_hidden", 3)
	moments := []int64{current}
	for _, s := range w.stamps {
		moments = append(moments, s[0])
	}
	for _, m := range moments {
		have, want := map[int64]bool{}, map[int64]bool{}
		for _, k := range kept {
			if whole(k[1]) <= m && m < whole(k[2]) {
				have[whole(k[0])] = true
			}
		}
		for _, n := range w.at(m).nodes() {
			if n.typ.Secured.Self && n.gone() {
				want[n.id] = true
			}
		}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Sprintf("scope_hidden at moment %d, want - and have +:\n%s", m, d)
		}
	}
	return ""
}

// hidden returns the cache of hidden projects for an actor. In half of the cases it returns nil, so that
// the engine must read the hidden projects from the database.
func (r *run) hidden() *auth.Hidden {
	if r.IntN(2) == 0 {
		return nil
	}
	h := &auth.Hidden{}
	for _, versions := range r.w.versions {
		for _, x := range versions {
			if x.typ.Secured.Self {
				h.Ever = h.Ever || x.state == deleted
			}
		}
	}
	for _, n := range r.w.at(current).nodes() {
		if n.typ.Secured.Self && n.gone() {
			h.Now = append(h.Now, n.id)
		}
	}
	return h
}
