package find

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// counted counts the statements that pass through it.
type counted struct {
	db.Querier
	n int
}

func (c *counted) Query(ctx context.Context, sql string, args ...any) (*db.Rows, error) {
	c.n++
	return c.Querier.Query(ctx, sql, args...)
}

func TestLargeResultIsReadInBlocks(t *testing.T) {
	const stories = 2*db.MaxIn + 7
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t)
		f.set("Scope:0", "Name=System")
		f.set("Member:20", "Name=Administrator")
		for i := range stories {
			f.set(fmt.Sprintf("Story:%d", 2000+i), fmt.Sprintf("Name=S%d; Scope=Scope:0; Order=%d; Owners=Member:20", i, stories-i))
		}
		f.write(d)
		ask := func(page *query.Page) (string, int) {
			r := query.Request{From: query.Text{Text: "Story"}, Sort: []query.Text{{Text: "Order"}}, Page: page}
			for _, s := range []string{"Name", "Owners.Name"} {
				r.Select = append(r.Select, query.Item{Text: query.Text{Text: s}})
			}
			q := &counted{Querier: d}
			got, err := New(d, f.m).Rows(context.Background(), q, auth.System, r, nil)
			if err != nil {
				t.Fatal(err)
			}
			return string(got), q.n
		}
		got, n := ask(nil)
		want := make([]string, stories)
		for i := range want {
			want[i] = fmt.Sprintf(`{"_oid":"Story:%d","Name":"S%d","Owners.Name":["Administrator"]}`, 2000+stories-1-i, stories-1-i)
		}
		if got != "["+strings.Join(want, ",")+"]" {
			t.Errorf("the whole is not what was written, in order: %.200s", got)
		}
		if n != 1+2*3 {
			t.Errorf("%d statements for three blocks and one branch, want 7", n)
		}
		for _, p := range []query.Page{{Start: 0, Size: 3}, {Start: 150, Size: 5}, {Start: 10, Size: 600}, {Start: stories - 1, Size: 10}} {
			got, _ := ask(&p)
			to := min(int(p.Start+p.Size), stories)
			if got != "["+strings.Join(want[p.Start:to], ",")+"]" {
				t.Errorf("page %+v: %.200s", p, got)
			}
		}
	})
}

// TestReadableScopesLookedUp checks a member with more scopes than a statement may list. So the
// statement itself finds the readable scopes, by the rule that the nearest role decides.
func TestReadableScopesLookedUp(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := projects(t, d, "1000 0", "1001 1000", "1002 1001", "1003 1001", "1004 0")
		grant(t, d, [2]int64{1000, 4}, [2]int64{1001, 0}, [2]int64{1003, 8}) // downwards: Team Member, No Access, Observer
		who := auth.Actor{Member: 77, Scopes: make([]int64, sqlgen.MaxInlineScopes+1)}
		got, err := New(d, f.m).IDs(context.Background(), nil, who, query.Request{From: query.Text{Text: "Scope"}})
		if err != nil || fmt.Sprint(got) != "[Scope:1000 Scope:1003]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// TestRolesLookedUp checks the rights of a member with roles in more scopes than a statement may
// list.
func TestRolesLookedUp(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := projects(t, d, "1000 0", "1001 1000", "1002 1001", "1003 1000", "1004 0")
		grant(t, d, [2]int64{1000, 2}, [2]int64{1001, 4}, [2]int64{1002, 2}, [2]int64{1004, 8}) // downwards: Project Admin, Team Member, Project Admin
		who := auth.Actor{Member: 77, Scopes: make([]int64, sqlgen.MaxInlineScopes+1), Roles: slices.Repeat([]meta.Role{meta.ProjectAdmin}, sqlgen.MaxInlineScopes+1)}
		r := query.Request{From: query.Text{Text: "Scope"}, Filter: []query.Text{{Text: "CanUpdate='true'"}}}
		got, err := New(d, f.m).IDs(context.Background(), nil, who, r)
		if err != nil || fmt.Sprint(got) != "[Scope:1000 Scope:1002 Scope:1003]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// projects writes some projects, each with its parent.
func projects(t *testing.T, d *db.DB, tree ...string) *fixture {
	f := newFixture(t)
	f.set("Scope:0", "Name=System")
	for _, s := range tree {
		id, parent, _ := strings.Cut(s, " ")
		f.set("Scope:"+id, "Name=P"+id+"; Parent=Scope:"+parent)
	}
	f.write(d)
	return f
}

// grant gives Member:77 roles in projects.
func grant(t *testing.T, d *db.DB, roles ...[2]int64) {
	var grants [][]any
	for _, g := range roles {
		grants = append(grants, []any{g[0], 77, g[1] - 1000, 0, 1, db.Forever})
	}
	err := d.Write(t.Context(), func(tx *db.Tx) error {
		return db.Insert(t.Context(), tx, "scope_member", []string{"scope_id", "member_id", "role_id", "is_owner", "since_moment", "until_moment"}, grants)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWidestQueriesRun runs the largest queries that the limits allow in one statement. The tables
// are almost empty, so all join orders have similar costs, and the server compares most of them.
func TestWidestQueriesRun(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		f := seed(t)
		f.write(d)
		if d.Dialect.Name == "mysql" {
			forgetStatistics(t, d)
		}
		var wide, exists, equal, absent []string
		for _, via := range []string{"", "Dependencies.", "SplitFrom.", "DuplicateOf."} {
			for _, a := range []string{"Risk", "Customer", "IdentifiedIn", "DeliveryCategory", "Scope", "Super", "Status", "Priority"} {
				if via != "DuplicateOf." {
					wide = append(wide, via+a+".Name")
				}
			}
		}
		for i := range query.MaxTerms {
			exists = append(exists, fmt.Sprintf("Owners.Nickname!='%d'", i))
			equal = append(equal, "Owners.Nickname='Zoe'")
		}
		for i := range query.MaxTerms / 2 { // each entry has two comparisons, one of them in brackets
			absent = append(absent, fmt.Sprintf("Children[Name='%d'].@Count='0'", i))
		}
		for what, r := range map[string]query.Request{
			"many relations":    {Select: items(wide), Sort: []query.Text{{Text: strings.Join(wide[:8], ",")}}},
			"many existences":   {Filter: []query.Text{{Text: strings.Join(exists, ";")}}},
			"many alternatives": {Filter: []query.Text{{Text: strings.Join(exists, "|")}}},
			"many semi-joins":   {Filter: []query.Text{{Text: strings.Join(equal, ";")}}},
			"many anti-joins":   {Filter: []query.Text{{Text: strings.Join(absent, ";")}}},
			"both":              {Select: items(wide), Filter: []query.Text{{Text: strings.Join(exists[:60], ";")}}},
		} {
			r.From.Text = "Story"
			if got, err := New(d, f.m).Rows(context.Background(), nil, actors["andre"], r, nil); err != nil || len(got) < 10 {
				t.Errorf("%s: %.80s, %v", what, got, err)
			}
		}
	})
}

// TestTooComplexIsRefused checks that a statement that is too complex is refused with an error, and
// is not sent to the database.
func TestTooComplexIsRefused(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		r := query.Request{Sort: []query.Text{{Text: strings.Repeat("EmbeddedImages.Now.Viewers.", 4) + "@Count"}}}
		r.From.Text = "Member"
		_, err := New(d, seed(t).m).Rows(context.Background(), nil, actors["andre"], r, nil)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || !strings.Contains(f.Msg, "too complex") || f.Err != nil {
			t.Errorf("%v, want an error that no database has caused", err)
		}
	})
}

func forgetStatistics(t *testing.T, d *db.DB) {
	t.Helper()
	for _, s := range []string{
		"UPDATE mysql.innodb_table_stats SET n_rows = 4 WHERE database_name = DATABASE()",
		"UPDATE mysql.innodb_index_stats SET stat_value = 0 WHERE database_name = DATABASE() AND stat_name LIKE 'n\\_diff%'",
		"FLUSH TABLES asset, asset_link",
	} {
		if _, err := d.Exec(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func items(tokens []string) []query.Item {
	var list []query.Item
	for _, s := range tokens {
		list = append(list, query.Item{Text: query.Text{Text: s}})
	}
	return list
}
