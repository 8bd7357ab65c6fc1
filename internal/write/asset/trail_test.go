package asset_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
)

// events returns the events of the audit trail since the last call, and deletes them. Each event is
// a line "kind actor member project role previousRole changed mayLogIn". The lines are sorted as
// text.
func (w *harness) events() string {
	w.t.Helper()
	l := trail.New(w.d, model, trail.Options{})
	p, err := l.Events(w.t.Context(), trail.Sight{All: true}, trail.Query{Page: "1000"})
	if err != nil {
		w.t.Fatal(err)
	}
	var lines []string
	for _, v := range p.Results {
		words := append([]string{string(v.Kind), v.Actor, v.Member, v.Project, v.Role, v.PreviousRole}, v.Changed...)
		if v.MayLogIn != nil {
			words = append(words, strconv.FormatBool(*v.MayLogIn))
		}
		lines = append(lines, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
	}
	if _, err := w.d.Exec(w.t.Context(), "DELETE FROM audit_trail"); err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(slices.Sorted(slices.Values(lines)), "\n") // the events of one write have the same instant
}

func (w *harness) wantEvents(why string, want ...string) {
	w.t.Helper()
	if got := w.events(); got != strings.Join(slices.Sorted(slices.Values(want)), "\n") {
		w.t.Errorf("%s:\n%s\nwant\n%s", why, got, strings.Join(want, "\n"))
	}
}

// Every way in which a member gets or loses a role leaves an event.
func TestRolesLeaveEvents(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		got := w.must(
			create("Scope", "@p", "Name", "Shop", "Parent", "Scope:0", "BeginDate", "2026-01-01"),
			create("Member", "@m", "Name", "Ann", "Nickname", "Ann", "DefaultRole", "Role:8"),
		)
		p, m := got[0], got[1]
		w.wantEvents("a project and a member",
			"RoleGranted Member:20 Member:20 "+p+" Role:1", "DefaultRoleChanged Member:20 "+m+" Role:8")
		w.must(update(p, "Members", m))
		w.wantEvents("joins", "RoleGranted Member:20 "+m+" "+p+" Role:8")
		w.must(operate(p, "AssignMemberWithRole", "Member", m, "Role", "Role:4", "IsOwner", "true"))
		w.wantEvents("another role", "RoleEnded Member:20 "+m+" "+p+" Role:8", "RoleGranted Member:20 "+m+" "+p+" Role:4")
		w.must(operate(p, "AssignMemberWithRole", "Member", m, "Role", "Role:4", "IsOwner", "true"))
		w.wantEvents("the same role")
		w.must(update(p, "-Members", m))
		w.wantEvents("leaves", "RoleEnded Member:20 "+m+" "+p+" Role:4")
		w.must(update(m, "DefaultRole", "Role:1"))
		w.wantEvents("another default role", "DefaultRoleChanged Member:20 "+m+" Role:1 Role:8")
		w.must(update(m, "DefaultRole", "Role:1"), update(m, "Name", "Bea"))
		w.wantEvents("the same default role")
		w.must(update(m, "DefaultRole", "Role:4"), update(m, "DefaultRole", "Role:1"))
		w.wantEvents("there and back")
		w.must(update(p, "Members", m), update(p, "-Members", m))
		w.wantEvents("joins and leaves in one request",
			"RoleGranted Member:20 "+m+" "+p+" Role:1", "RoleEnded Member:20 "+m+" "+p+" Role:1")
		w.run(update(m, "DefaultRole", "Role:4", "Email", strings.Repeat("x", 5000)), update(m, "Name", "Cleo"))
		w.wantEvents("a command that fails")
		w.must(create("Story", "@s", "Name", "S", "Scope", p))
		w.wantEvents("something else")
	})
}

// Every way in which a member loses or regains the right to log in leaves an event.
func TestShutOutMembersLeaveEvents(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		m := w.must(create("Member", "@m", "Name", "Ann", "Nickname", "Ann", "DefaultRole", "Role:4"))[0]
		w.wantEvents("a member", "DefaultRoleChanged Member:20 "+m+" Role:4")
		const by = "LoginChanged Member:20 "
		for _, step := range []struct {
			why     string
			command *asset.Command
			want    string
		}{
			{"disabled", update(m, "IsLoginDisabled", "true"), "IsLoginDisabled false"},
			{"disabled again", update(m, "IsLoginDisabled", "true"), ""},
			{"closed while disabled", operate(m, "Inactivate"), "AssetState false"},
			{"enabled while closed", update(m, "IsLoginDisabled", "false"), "IsLoginDisabled false"},
			{"deleted while closed", operate(m, "Delete"), "AssetState false"},
			{"restored as it was", operate(m, "Undelete"), "AssetState false"},
			{"reopened", operate(m, "Reactivate"), "AssetState true"},
			{"deleted", operate(m, "Delete"), "AssetState false"},
			{"restored", operate(m, "Undelete"), "AssetState true"},
			{"disabled once more", update(m, "IsLoginDisabled", "true"), "IsLoginDisabled false"},
			{"no value", update(m, "IsLoginDisabled", ""), "IsLoginDisabled true"},
			{"never disabled", update(m, "IsLoginDisabled", "false"), ""},
			{"another name", update(m, "Name", "Bea"), ""},
		} {
			w.must(step.command)
			if step.want == "" {
				w.wantEvents(step.why)
				continue
			}
			w.wantEvents(step.why, by+m+" "+step.want)
		}
		w.must(update(m, "IsLoginDisabled", "true"), update(m, "IsLoginDisabled", "false"))
		w.wantEvents("there and back")
		w.must(update(m, "IsLoginDisabled", "true"), operate(m, "Inactivate"))
		w.wantEvents("both in one request", by+m+" IsLoginDisabled AssetState false")
		w.run(operate(m, "Reactivate"), update(m, "IsLoginDisabled", "false", "Email", strings.Repeat("x", 5000)))
		w.wantEvents("a command that fails", by+m+" AssetState false")
		made := w.must(create("Member", "@n", "Name", "Cleo", "Nickname", "Cleo", "DefaultRole", "Role:4", "IsLoginDisabled", "true"))[0]
		w.wantEvents("made with a disabled login", "DefaultRoleChanged Member:20 "+made+" Role:4", by+made+" IsLoginDisabled false")
		story := w.must(create("Story", "@s", "Name", "S", "Scope", "Scope:0"))[0]
		w.must(operate(story, "Inactivate"), operate(story, "Delete"))
		w.wantEvents("no member")
	})
}

// A request that is rolled back leaves no event.
func TestARolledBackRequestLeavesNoEvent(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		w.events()
		err := w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString(), Import: true}, func(s *asset.Session) error {
			if _, err := s.Run(t.Context(), []*asset.Command{update("Member:20", "DefaultRole", "Role:4")}); err != nil {
				return err
			}
			return asset.ErrRollback
		})
		if err == nil {
			t.Error("no error")
		}
		w.wantEvents("rolled back")
	})
}

func TestImportsLeaveAnEvent(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newHarness(t, d)
		w.events()
		id := uuid.NewString()
		err := w.e.Write(t.Context(), auth.System, asset.Request{ID: id, Import: true}, func(s *asset.Session) error {
			s.Count(1)
			_, err := s.Run(t.Context(), []*asset.Command{create("Story", "@s", "Name", "S", "Scope", "Scope:0")})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := trail.New(d, model, trail.Options{}).Events(t.Context(), trail.Sight{All: true}, trail.Query{})
		if err != nil || len(p.Results) != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		if v := p.Results[0]; v.Kind != trail.Imported || v.Actor != "Member:20" || v.Request != id || v.Assets != 1 {
			t.Errorf("%+v", v)
		}
	})
}
