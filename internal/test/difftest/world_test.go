package difftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// world has everything that a database stores about assets.
type world struct {
	m        *meta.Model
	versions map[int64][]*version // by id of the asset, oldest first
	links    []pair
	held     []held // current roles of members in projects
	values   []pair
	grants   map[int64][]meta.Role // current roles in projects, by id of the member
	comments map[int64]any         // by id of the audit row
	stamps   [][2]int64            // rows of moment_stamp: last moment, and its time in microseconds
	views    map[int64]*view       // by moment
	horizon  int64                 // versions that ended at or before this moment were removed
}

// version is one row of asset_version.
type version struct {
	typ           *meta.Type
	id            int64
	state         int64
	moment, until int64
	audit         int64
	created       int64 // moment of the first version
	createdAt     int64
	createdBy     int64
	changedAt     int64
	changedBy     int64
	columns       []any // by meta.Place.Slot
	attrs         map[string]any
}

// held is a role of a member in a project.
type held struct{ scope, member, role int64 }

// pair is one row of asset_link or asset_value.
type pair struct {
	code         int
	from, to     int64
	value        string
	since, until int64
}

func (p pair) holds(moment int64) bool { return p.since <= moment && moment < p.until }

var fixedColumns = []string{
	"id", "type", "state", "moment", "until_moment", "audit_id",
	"created_moment", "created_at", "created_by", "changed_at", "changed_by", "attrs",
}

// load reads a world with simple SQL statements.
func load(t testing.TB, d *db.DB, m *meta.Model) *world {
	t.Helper()
	w := &world{m: m, versions: map[int64][]*version{}, comments: map[int64]any{}, views: map[int64]*view{}, grants: map[int64][]meta.Role{}}
	role, _ := m.Type("Role")
	for _, r := range rows(t, d, fmt.Sprintf("SELECT member_id, role_id FROM scope_member WHERE until_moment = %d", db.Forever), 2) {
		w.grants[whole(r[0])] = append(w.grants[whole(r[0])], meta.RoleNumbered(role.Shown(whole(r[1]))))
	}
	columns := slices.Clone(fixedColumns)
	for _, c := range m.Columns {
		columns = append(columns, c.Name)
	}
	for _, r := range rows(t, d, "SELECT "+db.OfVersions("v", columns)+" FROM asset_version v ORDER BY v.id, v.moment", len(columns)) {
		typ, _ := m.TypeByCode(int(whole(r[1])))
		v := &version{
			id: whole(r[0]), typ: typ, state: whole(r[2]), moment: whole(r[3]), until: whole(r[4]), audit: whole(r[5]),
			created: whole(r[6]), createdAt: whole(r[7]), createdBy: whole(r[8]), changedAt: whole(r[9]), changedBy: whole(r[10]),
		}
		if r[11] != nil {
			dec := json.NewDecoder(strings.NewReader(text(r[11])))
			dec.UseNumber()
			if err := dec.Decode(&v.attrs); err != nil {
				t.Fatal(err)
			}
			for key, x := range v.attrs {
				v.attrs[key] = spelled(x)
			}
		}
		for i, c := range m.Columns {
			v.columns = append(v.columns, cell(c.Kind, r[len(fixedColumns)+i]))
		}
		w.versions[v.id] = append(w.versions[v.id], v)
	}
	for _, r := range rows(t, d, "SELECT relation, from_id, to_id, since_moment, until_moment FROM asset_link ORDER BY 1, 2, 3, 4", 5) {
		w.links = append(w.links, pair{code: int(whole(r[0])), from: whole(r[1]), to: whole(r[2]), since: whole(r[3]), until: whole(r[4])})
	}
	for _, r := range rows(t, d, "SELECT attribute, from_id, value, since_moment, until_moment FROM asset_value ORDER BY 1, 2, 4, 3", 5) {
		w.values = append(w.values, pair{code: int(whole(r[0])), from: whole(r[1]), value: text(r[2]), since: whole(r[3]), until: whole(r[4])})
	}
	for _, r := range rows(t, d, fmt.Sprintf("SELECT scope_id, member_id, role_id FROM scope_member WHERE until_moment = %d ORDER BY 1, 2", db.Forever), 3) {
		w.held = append(w.held, held{whole(r[0]), whole(r[1]), whole(r[2])})
	}
	for _, r := range rows(t, d, "SELECT id, comment FROM audit", 2) {
		if r[1] != nil {
			w.comments[whole(r[0])] = text(r[1])
		}
	}
	for _, r := range rows(t, d, "SELECT last_moment, at FROM moment_stamp ORDER BY 1", 2) {
		w.stamps = append(w.stamps, [2]int64{whole(r[0]), whole(r[1])})
	}
	return w
}

func rows(t testing.TB, d *db.DB, sql string, width int) [][]any {
	t.Helper()
	found, err := d.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	var all [][]any
	for found.Next() {
		row, at := make([]any, width), make([]any, width)
		for i := range row {
			at[i] = &row[i]
		}
		if err := found.Scan(at...); err != nil {
			t.Fatal(err)
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = string(bytes.Clone(b))
			}
		}
		all = append(all, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func whole(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case string:
		var n int64
		_, _ = fmt.Sscan(v, &n)
		return n
	}
	panic(fmt.Sprintf("%T is no whole number", v))
}

func text(v any) string { return v.(string) }

// cell converts a value from a typed column to a value of the evaluator.
func cell(kind meta.ColumnKind, v any) any {
	switch {
	case v == nil:
		return nil
	case kind == meta.Str || kind == meta.Long:
		return text(v)
	case kind == meta.Number:
		switch v := v.(type) {
		case float64:
			return v
		case int64:
			return float64(v)
		}
		var f float64
		_, _ = fmt.Sscan(text(v), &f)
		return f
	}
	return whole(v)
}

// spelled converts a number with a fraction or an exponent to one form. MySQL stores the values of JSON and
// returns 1e+06 as 1000000.0. Other databases store the text.
func spelled(x any) any {
	n, isNumber := x.(json.Number)
	if _, err := n.Int64(); !isNumber || err == nil {
		return x
	}
	f, err := n.Float64()
	must(err)
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// dump prints a world as text, so that two worlds can be compared.
func (w *world) dump() string {
	var b strings.Builder
	ids := make([]int64, 0, len(w.versions))
	for id := range w.versions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		for _, v := range w.versions[id] {
			attrs, _ := json.Marshal(v.attrs)
			fmt.Fprintf(&b, "%s:%d state %d moments %d-%d of %d by %d %d, %q %s\n",
				v.typ.Name, v.id, v.state, v.moment, v.until, v.created, v.createdBy, v.changedBy, v.columns, attrs)
		}
	}
	slices.SortFunc(w.values, func(a, b pair) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	fmt.Fprintln(&b, "links", w.links)
	fmt.Fprintln(&b, "values", w.values)
	fmt.Fprintln(&b, "roles", w.held)
	for _, s := range w.stamps {
		fmt.Fprint(&b, " ", s[0])
	}
	return b.String()
}

// last returns the latest moment.
func (w *world) last() int64 {
	if len(w.stamps) == 0 {
		return 0
	}
	return w.stamps[len(w.stamps)-1][0]
}

// momentOf returns the latest moment whose time is not after the parameter at.
func (w *world) momentOf(at int64) int64 {
	var m int64
	for _, s := range w.stamps {
		if s[1] <= at {
			m = max(m, s[0])
		}
	}
	return m
}

// closureDiff compares the table scope_closure, which the service updates, with the tree of projects at
// every moment. It returns a description of the first difference, or "" if there is none.
func closureDiff(t testing.TB, d *db.DB, w *world) string {
	t.Helper()
	up, _ := w.m.Type("Scope")
	all, _ := up.Attr("ParentMeAndUp")
	kept := rows(t, d, "SELECT ancestor_id, descendant_id, since_moment, until_moment FROM scope_closure", 4)
	moments := []int64{current}
	for _, s := range w.stamps {
		moments = append(moments, s[0])
	}
	for _, m := range moments {
		have, want := map[[2]int64]int{}, map[[2]int64]int{}
		for _, k := range kept {
			if whole(k[2]) <= m && m < whole(k[3]) {
				have[[2]int64{whole(k[0]), whole(k[1])}]++
			}
		}
		for _, x := range w.at(m).order {
			if x.typ == up {
				n := node{x, w.at(m)}
				for _, a := range n.related(all) {
					want[[2]int64{a.id, x.id}]++
				}
			}
		}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Sprintf("scope_closure at moment %d, want - and have +:\n%s", m, d)
		}
	}
	return ""
}
