package sqlgen_test

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

var update = flag.Bool("update", false, "rewrite the stages in testdata")

func TestMain(m *testing.M) { testdb.Main(m) }

// visibilities has the visibilities that a case may use, by the word in its section "as".
var visibilities = withRoles(map[string]sqlgen.Visibility{
	"admin":         {Member: 20, All: true},
	"member":        {Member: 1003, Scopes: []int64{1000, 1001, 1002}, NoRead: []int64{-1000, -990}},
	"nobody hidden": {Member: 20, All: true, Hidden: &sqlgen.Hidden{}},
	"some hidden":   {Member: 20, All: true, Hidden: &sqlgen.Hidden{Now: []int64{1005, 1006, 1007}, Ever: true}},
	"team member":   rolesIn(meta.Role(4), meta.Role(4), meta.Role(8)),
	"customer":      rolesIn(meta.Role(7), meta.Role(7), meta.Role(7)),
	"observer":      rolesIn(meta.Role(8)),
	"member admin":  rolesIn(meta.Role(8), meta.MemberAdmin),
	"many roles":    rolesIn(slices.Repeat([]meta.Role{4}, sqlgen.MaxInlineScopes+1)...),
	"mates":         {Member: 1003, Scopes: []int64{1000, 1001}, NoRead: []int64{-1000, -990}, Members: []int64{1003, 1004}},
	"steward":       {Member: 1003, Scopes: []int64{1000, 1001}, NoRead: []int64{-1000, -990}, AllMembers: true},
	"then":          {Member: 1003, Scopes: make([]int64, sqlgen.MaxInlineScopes+1), NoRead: []int64{-1000, -990}, At: 700},
	"bounded":       {Member: 1003, Scopes: []int64{1000, 1001}, NoRead: []int64{-1000, -990}, Within: []int64{1000}, Types: []string{"Story", "Task"}},
	"bounded many":  within(rolesIn(slices.Repeat([]meta.Role{4}, sqlgen.MaxInlineScopes+1)...), false),
	"bounded admin": within(rolesIn(slices.Repeat([]meta.Role{meta.SystemAdmin}, sqlgen.MaxInlineScopes+1)...), true),
	"many":          {Member: 1003, Scopes: make([]int64, sqlgen.MaxInlineScopes+1), NoRead: []int64{-1000, -990}},
})

// within returns the visibility of a token that reads only below one project.
func within(v sqlgen.Visibility, all bool) sqlgen.Visibility {
	v.Within, v.AllWithin = []int64{1000}, all
	return v
}

func readerOf(v sqlgen.Visibility) query.Reader {
	return query.Reader{All: v.All, Bounded: v.Within != nil || v.Types != nil}
}

// withRoles adds the model data that statements about Viewers need.
func withRoles(all map[string]sqlgen.Visibility) map[string]sqlgen.Visibility {
	m := meta.Default()
	role, _ := m.Type("Role")
	member, _ := m.Type("Member")
	for name, v := range all {
		v.Role = role
		v.DefaultRole, _ = member.Attr("DefaultRole")
		all[name] = v
	}
	return all
}

// rolesIn returns the visibility of a member with one role in each of some scopes.
func rolesIn(roles ...meta.Role) sqlgen.Visibility {
	role, _ := meta.Default().Type("Role")
	v := sqlgen.Visibility{Member: 1003, Roles: roles, Held: meta.RolesOf(roles...), NoRead: []int64{-1000, -990}, Role: role}
	if slices.Contains(roles, meta.MemberAdmin) {
		v.System = meta.MemberAdmin
	}
	for i := range roles {
		v.Scopes = append(v.Scopes, int64(1000+i))
	}
	return v
}

var whens = map[string]query.When{
	"":     {},
	"at":   {Mode: query.At, Moment: 5000},
	"each": {Mode: query.Version},
}

// golden is one case: a request and the options of its plan.
type golden struct {
	ar    *txtar.Archive
	as    string
	when  string
	forms string
	body  []byte
	path  string
	plan  *query.Plan
	bound query.Bound
	err   error
}

// TestStages runs every testdata/*.txtar. A case has a section "request.json" or "get", and the
// sections "as", "when" and "forms" if it needs them. The test compares the other sections with the
// results. These are "bound", "plan", "mysql" and "sqlite", or "error".
func TestStages(t *testing.T) {
	for name, g := range load(t) {
		t.Run(name, func(t *testing.T) {
			for i, f := range g.ar.Files {
				got, ok := g.stage(f.Name)
				if !ok {
					continue
				}
				if *update {
					g.ar.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", name+".txtar"), txtar.Format(g.ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func load(t *testing.T) map[string]*golden {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	m := meta.Default()
	all := map[string]*golden{}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g := &golden{ar: ar, as: "admin"}
		for _, f := range ar.Files {
			text := strings.TrimSpace(string(f.Data))
			switch f.Name {
			case "as":
				g.as = text
			case "when":
				g.when = text
			case "forms":
				g.forms = text
			case "request.json":
				g.body = f.Data
			case "get":
				g.path = text
			}
		}
		g.compile(m)
		all[strings.TrimSuffix(filepath.Base(file), ".txtar")] = g
	}
	return all
}

func (g *golden) compile(m *meta.Model) {
	r, err := g.request()
	if err == nil {
		g.bound, err = query.Bind(m, r)
	}
	if err == nil {
		g.plan, err = query.NewPlan(g.bound, query.Options{Reader: readerOf(visibilities[g.as]), When: whens[g.when]})
	}
	g.err = err
}

func (g *golden) request() (query.Request, error) {
	if g.path != "" {
		path, params, _ := strings.Cut(g.path, "?")
		values, err := url.ParseQuery(params)
		if err != nil {
			return query.Request{}, err
		}
		return query.FromParams(query.AddressOf(path), values)
	}
	nodes, err := document.Parse(g.body, false)
	if err != nil {
		return query.Request{}, err
	}
	return query.FromDoc(&nodes[0])
}

// stage prints one stage. It returns false for a section that is input.
func (g *golden) stage(name string) (string, bool) {
	if g.err != nil {
		if name != "error" {
			return "error: " + g.err.Error() + "\n", name == "bound" || name == "plan" || name == "mysql" || name == "sqlite"
		}
		return fmt.Sprintf("%s at %d: %s\n", fault.KindOf(g.err), fault.Place(g.err), fault.Public(g.err)), true
	}
	switch name {
	case "bound":
		return g.bound.String(), true
	case "plan":
		return g.plan.String(), true
	case "mysql", "sqlite":
		return g.sql(name), true
	case "error":
		return "none\n", true
	}
	return "", false
}

// statements returns the statements that package find would run, with invented ids.
func (g *golden) statements(d *db.Dialect) []sqlgen.Statement {
	w := sqlgen.Writer{Dialect: d, Visibility: visibilities[g.as]}
	ids, moments := []int64{1001, 1002, 1003}, []int64(nil)
	if g.plan.Moment != nil {
		moments = []int64{2001, 2002, 2003}
	}
	var all []sqlgen.Statement
	switch {
	case g.forms != "":
		for word := range strings.FieldsSeq(g.forms) {
			all = append(all, g.form(w, word, ids)...)
		}
		return all
	case g.when == "each":
		all = append(all, w.Among(g.plan, ids, moments), w.Block(&g.plan.Select, ids, moments))
	case g.plan.Page != nil:
		all = append(all, w.Page(g.plan, false))
	default:
		all = append(all, w.IDs(g.plan), w.Block(&g.plan.Select, ids, moments))
	}
	var children func(branches []*query.Branch)
	children = func(branches []*query.Branch) {
		for _, b := range branches {
			all = append(all, w.Children(b, ids, moments))
			children(b.Branches)
		}
	}
	children(g.plan.Branches)
	return all
}

// form writes the plan in one of the forms from which package find chooses. After the word "found",
// lookups have found ids.
func (g *golden) form(w sqlgen.Writer, word string, ids []int64) (all []sqlgen.Statement) {
	switch word {
	case "lookup", "found":
		for _, l := range g.plan.Lookups {
			if l.Known = word == "found"; l.Known {
				l.Found = ids
				continue
			}
			all = append(all, w.Lookup(l))
		}
		return all
	case "page":
		return []sqlgen.Statement{w.Page(g.plan, false)}
	case "idsfirst":
		return []sqlgen.Statement{w.IDsFirst(g.plan, false)}
	case "ids":
		return []sqlgen.Statement{w.IDs(g.plan)}
	case "block":
		return []sqlgen.Statement{w.Block(&g.plan.Select, ids, nil)}
	case "total":
		return []sqlgen.Statement{w.Total(g.plan)}
	}
	panic("no form " + word)
}

func (g *golden) sql(dialect string) string {
	var b strings.Builder
	for _, s := range g.statements(db.DialectNamed(dialect)) {
		b.WriteString(pretty(s.SQL))
		for _, a := range s.Args {
			fmt.Fprintf(&b, "  %#v", a)
		}
		b.WriteString("\n\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pretty breaks a statement before its clauses, but not inside parentheses.
func pretty(s string) string {
	var b strings.Builder
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			depth--
		case ' ':
			if depth == 0 && startsClause(s[i+1:], s[:i]) {
				b.WriteString("\n  ")
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String() + "\n"
}

func startsClause(rest, before string) bool {
	for _, clause := range []string{"FROM ", "LEFT JOIN ", "WHERE ", "ORDER BY ", "LIMIT "} {
		if strings.HasPrefix(rest, clause) {
			return true
		}
	}
	return strings.HasPrefix(rest, "JOIN ") && !strings.HasSuffix(before, "LEFT")
}

// TestStatementsRun runs every statement of the cases on the real schema of both databases. It
// checks that each statement has as many arguments as placeholders.
func TestStatementsRun(t *testing.T) {
	cases := load(t)
	testdb.Each(t, func(t *testing.T, d *db.DB) { run(t, cases, d) })
}

// TestStatementsForTiDB runs the statements in the form that TiDB needs. It runs each case as it
// is, for a member with too many scopes to list in a statement, at one moment, and at the moments
// of versions.
func TestStatementsForTiDB(t *testing.T) {
	d, recorded := testdb.OpenAsTiDB(t)
	for cases := range loadEach(t) {
		run(t, cases, d)
	}
	if broken := recorded.Broken(true); len(broken) > 0 {
		t.Errorf("%d statements are none for TiDB\n%s", len(broken), strings.Join(broken, "\n"))
	}
}

// loadEach loads the cases as they are, for a member with too many scopes to list in a statement,
// at one moment, and at the moments of versions. With -short it uses only some of these
// combinations.
func loadEach(t *testing.T) iter.Seq[map[string]*golden] {
	return func(yield func(map[string]*golden) bool) {
		for _, as := range []string{"", "many"} {
			for _, when := range []string{"", "at", "each"} {
				if testing.Short() && as+when != "" && as+when != "manyat" && as+when != "each" {
					continue
				}
				cases := load(t)
				for name, g := range cases {
					if as+when == "" {
						continue
					}
					if g.forms != "" { // the forms belong to the plan of the case without changes
						delete(cases, name)
						continue
					}
					if as != "" {
						g.as = as
					}
					if when != "" {
						g.when = when
					}
					g.compile(meta.Default())
				}
				if !yield(cases) {
					return
				}
			}
		}
	}
}

func run(t *testing.T, cases map[string]*golden, d *db.DB) {
	t.Helper()
	for name, g := range cases {
		if g.err != nil {
			continue
		}
		for _, s := range g.statements(d.Dialect) {
			if n := strings.Count(s.SQL, "?"); n != len(s.Args) {
				t.Errorf("%s: %d placeholders, %d arguments: %s", name, n, len(s.Args), s.SQL)
			}
			rows, err := d.Query(context.Background(), s.SQL, s.Args...)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, s.SQL)
				continue
			}
			for rows.Next() {
				if strings.HasPrefix(s.SQL, "SELECT COUNT(") {
					continue
				}
				t.Errorf("%s: a row of an empty database", name)
			}
			if err := rows.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
