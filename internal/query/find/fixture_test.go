package find

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// fixture is a small history of assets, written to the tables by SQL.
type fixture struct {
	t      testing.TB
	m      *meta.Model
	moment int64
	assets map[string]*record
	order  []string
	links  []*pair
	values []*pair
	tree   []*pair // rows of scope_closure; n of a pair is the depth
}

// record is one asset with its versions, oldest first.
type record struct {
	typ      *meta.Type
	id       int64
	versions []map[string]any
}

// pair is one row of a table of pairs.
type pair struct {
	code, fromType int
	from           int64
	to             any
	since, until   int64
	n              int
}

func newFixture(t testing.TB) *fixture {
	return &fixture{t: t, m: meta.Default(), moment: 1000, assets: map[string]*record{}}
}

// set creates or changes an asset. attrs has the form "Name=Login; Scope=Scope:1000;
// Owners=Member:20,Member:1003". A list of a to-many relation replaces the previous list.
func (f *fixture) set(token, attrs string) {
	f.t.Helper()
	f.moment++
	r, ok := f.assets[token]
	var row map[string]any
	if !ok {
		o, err := oid.Parse(token)
		if err != nil {
			f.t.Fatal(err)
		}
		typ, known := f.m.Type(o.Type)
		if !known {
			f.t.Fatalf("no type %s", o.Type)
		}
		r = &record{typ: typ, id: typ.Stored(o.ID)}
		f.assets[token] = r
		f.order = append(f.order, token)
		row = map[string]any{"type": typ.Code, "state": 64, "created_moment": f.moment, "created_at": at(f.moment), "created_by": 20, "attrs": map[string]any{}}
		if typ.Secured.Self {
			row["scope_id"] = r.id
		}
	} else {
		last := r.versions[len(r.versions)-1]
		last["until_moment"] = f.moment
		row = maps.Clone(last)
		row["attrs"] = maps.Clone(last["attrs"].(map[string]any))
	}
	row["moment"], row["until_moment"], row["audit_id"] = f.moment, db.Forever, 1
	row["changed_at"], row["changed_by"] = at(f.moment), 20
	for part := range strings.SplitSeq(attrs, "; ") {
		name, value, ok := strings.Cut(part, "=")
		if ok {
			f.attr(r, row, name, value)
		}
	}
	r.versions = append(r.versions, row)
	if r.typ.Name == "Scope" && !ok {
		f.scope(r, row)
	}
}

// at returns the instant of a moment, in UTC microseconds. Moment 1000 is the beginning of
// 2026-01-01, and each moment is one second later than the one before.
func at(moment int64) int64 {
	start, _ := value.Instant("2026-01-01")
	return start + (moment-1000)*1_000_000
}

func (f *fixture) attr(r *record, row map[string]any, name, value string) {
	f.t.Helper()
	if name == "state" {
		row["state"] = f.number(value)
		return
	}
	a, ok := r.typ.Attr(name)
	if !ok {
		f.t.Fatalf("no attribute %s.%s", r.typ.Name, name)
	}
	switch a.Place.Kind {
	case meta.InColumn:
		row[a.Place.Column] = f.scalar(a, value)
	case meta.InAttrs:
		row["attrs"].(map[string]any)[a.Place.Column] = f.scalar(a, value)
	case meta.InLinks:
		f.links = f.replace(f.links, r, a, value, func(s string) any { return f.ref(s) })
	case meta.InValues:
		f.values = f.replace(f.values, r, a, value, func(s string) any { return s })
	default:
		f.t.Fatalf("cannot set %s", a.Token())
	}
}

func (f *fixture) scalar(a *meta.Attr, text string) any {
	switch {
	case text == "":
		return nil
	case a.Kind == meta.Relation:
		return f.ref(text)
	case a.Kind == meta.Numeric || a.Kind == meta.Rank:
		return f.number(text)
	case a.Kind == meta.Boolean:
		return text == "true"
	case a.Kind == meta.Date:
		n, _ := value.Instant(text)
		return n
	}
	return text
}

func (f *fixture) number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

func (f *fixture) ref(s string) int64 {
	o, err := oid.Parse(s)
	if err != nil {
		f.t.Fatal(err)
	}
	typ, _ := f.m.Type(o.Type)
	return typ.Stored(o.ID)
}

func (f *fixture) replace(list []*pair, r *record, a *meta.Attr, value string, to func(string) any) []*pair {
	for _, p := range list {
		if p.code == a.Place.Code && p.from == r.id && p.until == db.Forever {
			p.until = f.moment
		}
	}
	for v := range strings.SplitSeq(value, ",") {
		if v != "" {
			list = append(list, &pair{code: a.Place.Code, fromType: r.typ.Code, from: r.id, to: to(v), since: f.moment, until: db.Forever})
		}
	}
	return list
}

// scope adds a new scope to the closure of the scope tree.
func (f *fixture) scope(r *record, row map[string]any) {
	self := &pair{from: r.id, to: r.id, since: f.moment, until: db.Forever}
	above := []*pair{}
	for _, p := range f.tree {
		if p.to == row["parent_id"] {
			above = append(above, &pair{from: p.from, to: r.id, since: f.moment, until: db.Forever, n: p.n + 1})
		}
	}
	f.tree = append(append(f.tree, self), above...)
}

var auditColumns = []string{
	"id", "request_id", "actor_id", "at", "comment", "first_moment", "last_moment",
	"generation", "fan_state", "fan_moment", "fan_fence", "fan_lease", "fan_claims",
}

// write inserts all rows into the database.
func (f *fixture) write(d *db.DB) {
	f.t.Helper()
	ctx := context.Background()
	fixed := []string{"id", "type", "state", "moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at", "changed_by", "attrs"}
	for _, c := range f.m.Columns {
		fixed = append(fixed, c.Name)
	}
	var current, versions, stamps [][]any
	for _, token := range f.order {
		r := f.assets[token]
		for i, v := range r.versions {
			row := f.row(r, v, fixed)
			versions = append(versions, append(slices.Clone(row), v["until_moment"], 0))
			if i == len(r.versions)-1 {
				current = append(current, row)
			}
		}
	}
	for m := int64(1001); m <= f.moment; m++ {
		stamps = append(stamps, []any{m, at(m)})
	}
	pairs := func(list []*pair) (rows [][]any) {
		for _, p := range list {
			rows = append(rows, []any{p.code, p.fromType, p.from, p.to, p.since, p.until})
		}
		return rows
	}
	values := pairs(f.values)
	for i, p := range f.values {
		values[i] = append(values[i], folding.Of(p.to.(string)))
	}
	var tree [][]any
	for _, p := range f.tree {
		tree = append(tree, []any{p.from, p.to, p.since, p.until, p.n})
	}
	err := d.Write(ctx, func(tx *db.Tx) error {
		for _, w := range []struct {
			table   string
			columns []string
			rows    [][]any
		}{
			{"asset", fixed, current},
			{"asset_version", append(slices.Clone(fixed), "until_moment", "linked"), versions},
			{"asset_link", []string{"relation", "from_type", "from_id", "to_id", "since_moment", "until_moment"}, pairs(f.links)},
			{"asset_value", []string{"attribute", "from_type", "from_id", "value", "since_moment", "until_moment", "folded"}, values},
			// Zoë has a role in a project that Andre reads.
			{"scope_member", []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}, [][]any{{1000, 1004, 4 - 1000, 0, 1, db.Forever}}},
			{"scope_closure", []string{"ancestor_id", "descendant_id", "since_moment", "until_moment", "depth"}, tree},
			{"moment_stamp", []string{"last_moment", "at"}, stamps},
			{"audit", auditColumns, [][]any{{1, "00000000-0000-0000-0000-000000000001", 20, 1, "seeded", 1, f.moment, 0, 1, 0, 0, 0, 0}}},
		} {
			if err := db.Insert(ctx, tx, w.table, w.columns, w.rows); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) row(r *record, v map[string]any, columns []string) []any {
	row := make([]any, len(columns))
	for i, c := range columns {
		switch c {
		case "id":
			row[i] = r.id
		case "attrs":
			if m := v["attrs"].(map[string]any); len(m) > 0 {
				maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
				b, err := json.Marshal(m)
				if err != nil {
					f.t.Fatal(err)
				}
				row[i] = string(b)
			}
		default:
			row[i] = v[c]
		}
	}
	return row
}

// seed returns the data of the tests. Every call of set is one moment. The first moment is 1001.
func seed(t testing.TB) *fixture {
	f := newFixture(t)
	f.set("Scope:0", "Name=System (All Projects); BeginDate=2007-09-08")
	f.set("Role:1", "Name=Role.Name'System Admin")
	f.set("Member:20", "Name=Administrator; Nickname=Admin; Username=admin; DefaultRole=Role:1")
	f.set("StoryStatus:134", "Name=In Progress; Order=1")
	f.set("StoryStatus:135", "Name=Done; Order=2")
	f.set("Scope:1000", "Name=Call Center; Parent=Scope:0; BeginDate=2026-01-01")
	f.set("Scope:1001", "Name=Release 1; Parent=Scope:1000; BeginDate=2026-02-01")
	f.set("Scope:1002", "Name=Hidden; Parent=Scope:0; BeginDate=2026-02-01")
	f.set("Member:1003", "Name=Andre Agile; Nickname=Andre")
	f.set("Member:1004", "Name=Zoë; Nickname=Zoe; NotifyViaEmail=true")
	f.set("Epic:1010", "Name=Portal; Scope=Scope:1000; Number=E-01001; Order=1; Swag=21.5")
	f.set("Epic:1011", "Name=Payments; Scope=Scope:1000; Super=Epic:1010; Number=E-01002; Order=2")
	f.set("Epic:1012", "Name=Secret plan; Scope=Scope:1002; Number=E-01003; Order=3")
	f.set("Story:1020", "Name=Login; Scope=Scope:1000; Super=Epic:1011; Number=S-01001; Order=10; Estimate=3; Status=StoryStatus:134; Owners=Member:20,Member:1003; TaggedWith=ui,web; RequestedBy=Zoë")
	f.set("Story:1021", "Name=Logout; Scope=Scope:1001; Super=Epic:1010; Number=S-01002; Order=20; Estimate=1.5; Status=StoryStatus:135; Owners=Member:1003; Dependencies=Story:1020")
	f.set("Story:1022", "Name=Audit 100%; Scope=Scope:1002; Super=Epic:1012; Number=S-01003; Order=30")
	f.set("Story:1023", "Name=Old; Scope=Scope:1000; Number=S-01004; Order=40; Estimate=5; Owners=Member:1004")
	f.set("Story:1023", "state=255")
	f.set("Story:1024", "Name=Closed one; Scope=Scope:1000; Super=Epic:1012; Number=S-01005; Order=50; state=128")
	f.set("Defect:1030", "Name=Crash; Scope=Scope:1000; Number=D-01001; Order=15; Environment=Linux; Owners=Member:1004")
	f.set("Task:1040", "Name=Design login; Parent=Story:1020; Scope=Scope:1000; Number=TK-01001; Order=1; ToDo=4; DetailEstimate=6; Estimate=6")
	f.set("Task:1041", "Name=Build login; Parent=Story:1020; Scope=Scope:1000; Number=TK-01002; Order=2; ToDo=8; Owners=Member:20")
	f.set("Test:1042", "Name=Try login; Parent=Story:1020; Scope=Scope:1000; Number=AT-01001; Order=3; ToDo=1")
	f.set("Task:1043", "Name=Gone; Parent=Story:1020; Scope=Scope:1000; Number=TK-01003; Order=4; ToDo=100; state=255")
	f.set("Note:1050", "Name=Remark; Asset=Story:1020; Content=<b>bold</b>\nline; Personal=false; SecurityScope=Scope:1000")
	f.set("Story:1020", "Name=Log in; Estimate=5; Owners=Member:1003,Member:1004")
	return f
}

// extend adds custom attributes to the model, and sets values for them. The values are stored in
// columns that sibling types share, in the JSON and in links.
func (f *fixture) extend() {
	f.t.Helper()
	m, err := f.m.Extend(meta.Custom{
		Lists: []meta.CustomList{{ID: 900, Name: "Custom_OriginType", Code: 10000}},
		Attributes: []meta.CustomAttribute{
			{ID: 901, Type: "Workitem", Name: "Custom_Cost", Kind: meta.Numeric, Code: 2},
			{ID: 902, Type: "Workitem", Name: "Custom_Weight", Kind: meta.Numeric},
			{ID: 903, Type: "PrimaryWorkitem", Name: "Custom_Due", Kind: meta.Date, Code: 1},
			{ID: 904, Type: "Story", Name: "Custom_Motto", Kind: meta.Text, Code: 1},
			{ID: 905, Type: "Task", Name: "Custom_Motto", Kind: meta.Text, Code: 2},
			{ID: 906, Type: "Epic", Name: "Custom_Motto", Kind: meta.Text},
			{ID: 907, Type: "Story", Name: "Custom_Checked", Kind: meta.Boolean},
			{ID: 908, Type: "Workitem", Name: "Custom_Origin", Kind: meta.Relation, To: "Custom_OriginType", Back: "Custom_Workitems", Code: 10000},
			{ID: 909, Type: "Story", Name: "Custom_Readers", Kind: meta.Relation, To: "Member", Many: true, Back: "Custom_Reads", Code: 10001},
			{ID: 910, Type: "Test", Name: "Custom_Former", Kind: meta.Text, Code: 1, Retired: true},
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	f.m = m
	for _, r := range f.assets {
		r.typ, _ = m.Type(r.typ.Name)
	}
	f.set("Custom_OriginType:1100", "Name=Customer; Order=2")
	f.set("Custom_OriginType:1101", "Name=Sales; Order=1")
	f.set("Story:1020", "Custom_Cost=2.5; Custom_Weight=2.5; Custom_Due=2026-01-02; Custom_Motto=Worth; Custom_Origin=Custom_OriginType:1100; Custom_Readers=Member:20,Member:1004")
	f.set("Story:1021", "Custom_Cost=10; Custom_Weight=10; Custom_Due=2026-03-01; Custom_Motto=WORTH; Custom_Origin=Custom_OriginType:1101")
	f.set("Story:1024", "Custom_Cost=-1; Custom_Motto=a%b; Custom_Checked=true; Custom_Origin=Custom_OriginType:1100")
	f.set("Defect:1030", "Custom_Cost=2.5; Custom_Due=2026-01-02")
	f.set("Task:1040", "Custom_Cost=3; Custom_Motto=worth")
	f.set("Epic:1010", "Custom_Motto=Worth; Custom_Weight=7; Custom_Origin=Custom_OriginType:1101")
	f.set("Story:1020", "Custom_Cost=3; Custom_Motto=a")
}
