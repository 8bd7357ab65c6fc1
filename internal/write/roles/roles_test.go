package roles_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/find"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
	"github.com/alds-dev/alds/internal/write/roles"
	"github.com/alds-dev/alds/internal/write/seed"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// world is a database with two projects and a member, and the service.
type world struct {
	t *testing.T
	e *asset.Engine
	*roles.Service
}

func newWorld(t *testing.T, d *db.DB) *world {
	t.Helper()
	model := meta.Default()
	if err := seed.Run(t.Context(), d, model); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, e: asset.New(d, model, nil, nil), Service: roles.New(d, model, find.New(d, model))}
	w.do(
		w.create("Scope", "Name", "A", "Parent", "Scope:0", "BeginDate", "2026-01-01"), // Scope:1001
		w.create("Scope", "Name", "B", "Parent", "Scope:0", "BeginDate", "2026-01-01"), // Scope:1002
		w.create("Member", "Name", "Ada <b>", "Nickname", "Ada", "DefaultRole", "Role:4"),
	)
	return w
}

func values(pairs []string) []asset.Change {
	var all []asset.Change
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, asset.Change{Name: pairs[i], Set: []asset.Value{{Kind: asset.Text, Text: pairs[i+1]}}})
	}
	return all
}

func (w *world) create(typ string, pairs ...string) *asset.Command {
	t, _ := w.e.Model().Type(typ)
	return &asset.Command{Verb: asset.Create, Type: t, Self: &asset.Handle{}, Changes: values(pairs)}
}

func (w *world) operate(token, op string, pairs ...string) *asset.Command {
	o, err := oid.Parse(token)
	if err != nil {
		w.t.Fatal(err)
	}
	return &asset.Command{Verb: asset.Operate, Target: asset.Ref{OID: o}, Op: op, Args: values(pairs)}
}

func (w *world) do(commands ...*asset.Command) {
	w.t.Helper()
	err := w.e.Write(w.t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
		done, err := s.Run(w.t.Context(), commands)
		for _, o := range done {
			if err == nil && o.Err != nil {
				err = o.Err
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// brief prints an answer as "A: Ada/Tester/true; ...". First comes the name of a project. Then come
// the member, the role and isOwner of each entry of the project. For an answer by member, projects
// and members change places.
func brief(t *testing.T, b []byte, err error) string {
	t.Helper()
	if err != nil {
		return fault.KindOf(err).String() + ": " + fault.Public(err)
	}
	type named struct{ Name string }
	type held struct {
		IsOwner               bool
		Project, Member, Role named
	}
	var a struct {
		Assets []struct {
			Project, Member           *named
			MemberRoles, ProjectRoles []held
		}
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	var all []string
	for _, e := range a.Assets {
		name := e.Project
		if name == nil {
			name = e.Member
		}
		line := name.Name + ":"
		for _, h := range append(e.MemberRoles, e.ProjectRoles...) {
			line += fmt.Sprintf(" %s%s/%s/%t", h.Project.Name, h.Member.Name, h.Role.Name, h.IsOwner)
		}
		all = append(all, line)
	}
	return strings.Join(all, "; ")
}

func (w *world) projects(who auth.Actor, where string) string {
	b, err := w.ByProject(w.t.Context(), who, where)
	return brief(w.t, b, err)
}

func (w *world) members(who auth.Actor, where string) string {
	b, err := w.ByMember(w.t.Context(), who, where)
	return brief(w.t, b, err)
}

func TestRoles(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		expect := func(what, want, got string) {
			t.Helper()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		expect("who made it", "A: Administrator/System Admin/true", w.projects(auth.System, "ID='Scope:1001'"))
		w.do(
			w.operate("Scope:1001", "AssignMemberWithRole", "Member", "Member:1003", "Role", "Role:2", "IsOwner", "true"),
			w.operate("Scope:1002", "AssignMemberWithRole", "Member", "Member:1003", "Role", "Role:8"),
			w.operate("Scope:1001", "AssignMemberWithRole", "Member", "Member:20", "Role", "Role:8"),
			w.operate("Scope:1001", "AssignMemberWithRole", "Member", "Member:1003", "Role", "Role:3"), // another role
		)
		if got := w.projects(auth.System, "ID='Scope:1001'"); strings.Count(got, "Ada <b>/") != 1 || !strings.HasSuffix(got, "/Observer/false Ada <b>/Project Lead/false") {
			t.Errorf("of one project: %s", got)
		}
		ada := w.members(auth.System, "ID='Member:1003'")
		if !strings.HasPrefix(ada, "Ada <b>: ") || strings.Count(ada, "/") != 4 {
			t.Errorf("of one member: %s", ada)
		}
		some := auth.Actor{Member: 1003, Scopes: []int64{1002}}
		expect("a project that the caller does not see", "", w.projects(some, "ID='Scope:1001'"))
		if got := w.members(some, "ID='Member:1003'"); !strings.Contains(got, " B/") || strings.Contains(got, " A/") {
			t.Errorf("only in projects that the caller sees: %s", got)
		}
		w.do(w.operate("Scope:1002", "Delete"))
		if got := w.members(auth.System, "ID='Member:1003'"); strings.Contains(got, " B/") {
			t.Errorf("in a deleted project: %s", got)
		}
		expect("a deleted project", "", w.projects(auth.System, "ID='Scope:1002'"))
		w.do(w.operate("Member:1003", "Delete"))
		if got := w.projects(auth.System, "ID='Scope:1001'"); strings.Contains(got, "Ada") {
			t.Errorf("of a deleted member: %s", got)
		}
	})
}

// refused is the prefix of every error for a filter. As the expected answer of a case, it matches
// each of these errors.
const refused = "invalid: "

func TestBadFilters(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) { badFilters(t, newWorld(t, d)) })
}

func badFilters(t *testing.T, w *world) {
	t.Helper()
	for what, c := range map[string]struct{ where, want string }{
		"an unknown attribute":       {"Nope='x'", "invalid: Invalid QueryFilter2 token Nope='x'"},
		"a value without quotes":     {"ID=Scope:0", "invalid: Invalid QueryFilter2 token ID=Scope:0"},
		"quotes that do not close":   {"ID='Scope:0", "invalid: Invalid QueryFilter2 token ID='Scope:0"},
		"a statement of another":     {"ID='Scope:0' OR 1=1", "invalid: Invalid QueryFilter2 token ID='Scope:0' OR 1=1"},
		"a name that nobody has":     {"Name='nobody'", ""},
		"an Oid of another type":     {"ID='Story:1'", refused},
		"quotes within a value":      {"Name=''' OR ''1''=''1'", ""},
		"10,000 brackets":            {strings.Repeat("(", 10_000), refused},
		"bytes that are no UTF-8":    {"Name='\xff'", ""},
		"a filter that is very long": {"Name='" + strings.Repeat("x", 100_000) + "'", ""},
	} {
		for _, got := range []string{w.projects(auth.System, c.where), w.members(auth.System, c.where)} {
			if got != c.want && (c.want != refused || !strings.HasPrefix(got, refused)) {
				t.Errorf("%s: %.200s, want %s", what, got, c.want)
			}
		}
	}
}
