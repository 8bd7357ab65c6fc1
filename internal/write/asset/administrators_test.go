package asset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/write/asset"
)

// A request is refused if it would leave no system administrator who can log in, whatever its
// commands are and however many administrators it affects.
func TestTheLastAdministratorStays(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		closed := w.must(create("Member", "@closed", "Name", "C", "Nickname", "c", "DefaultRole", "Role:1"))[0]
		w.must(operate(closed, "Inactivate"))
		refused := func(what string, commands ...*asset.Command) {
			t.Helper()
			err := w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
				done, err := s.Run(t.Context(), commands)
				for _, o := range done {
					if err == nil {
						err = o.Err
					}
				}
				return err
			})
			if fault.KindOf(err) != fault.Denied {
				t.Errorf("%s: %v", what, err)
			}
		}
		// Member:20 is System Admin by the default role and by the role in Scope:0.
		w.must(update("Member:20", "Username", "admin"))
		refused("no username", update("Member:20", "Username", ""))
		w.must(create("Member", "@without", "Name", "W", "Nickname", "w", "DefaultRole", "Role:1"))
		refused("beside one who has none", update("Member:20", "Username", ""))
		refused("no login", update("Member:20", "IsLoginDisabled", "true"))
		refused("both roles at once", update("Member:20", "DefaultRole", "Role:4"), operate("Scope:0", "AssignMemberWithRole", "Member", "Member:20", "Role", "Role:2"))
		w.must(operate("Scope:0", "AssignMemberWithRole", "Member", "Member:20", "Role", "Role:2"))
		refused("another role", update("Member:20", "DefaultRole", "Role:4"))
		second := w.must(create("Member", "@second", "Name", "S", "Nickname", "s", "DefaultRole", "Role:1", "Username", "second"))[0]
		refused("two members at once", update("Member:20", "DefaultRole", "Role:4"), operate(second, "Inactivate"))
		w.must(update("Member:20", "DefaultRole", "Role:4"))
		refused("the other one", operate(second, "Inactivate"))
	})
}

// OnRolesChanged is called after a write that may have changed the rights of a member, and after no
// other write. Its argument is true if an administrator may have lost the role.
func TestRolesChanged(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		member := w.must(create("Member", "@m", "Name", "M", "Nickname", "m", "DefaultRole", "Role:4"))[0]
		told, toldOfAdmins := 0, false
		w.e.OnRolesChanged = func(administrators bool) { told, toldOfAdmins = told+1, administrators }
		for _, c := range []struct {
			what  string
			write *asset.Command
			want  int
			admin bool
		}{
			{"a story", create("Story", "@s", "Name", "S", "Scope", "Scope:0"), 0, false},
			{"a member", create("Member", "@n", "Name", "N", "Nickname", "n", "DefaultRole", "Role:4"), 1, false},
			{"another default role", update(member, "DefaultRole", "Role:3"), 1, true},
			{"a default role that it has", update(member, "DefaultRole", "Role:3"), 0, false},
			{"a login that is disabled", update(member, "IsLoginDisabled", "true"), 1, true},
			{"a role in a project", operate("Scope:0", "AssignMemberWithRole", "Member", member, "Role", "Role:2"), 1, false},
			{"a project", create("Scope", "@p", "Name", "P", "Parent", "Scope:0", "BeginDate", "2026-01-01"), 1, false},
			{"the end of a role in the root project", operate("Scope:0", "AssignMemberWithRole", "Member", member, "Role", "Role:4"), 1, true},
		} {
			told, toldOfAdmins = 0, false
			w.must(c.write)
			if told != c.want || toldOfAdmins != c.admin {
				t.Errorf("%s: told %d times, want %d; of administrators: %v", c.what, told, c.want, toldOfAdmins)
			}
		}
	})
}

// If two concurrent requests disable the logins of the last two administrators, one of them fails.
func TestTwoAdministratorsEndEachOther(t *testing.T) {
	w := newHarness(t, testdb.MySQL(t))
	for range 10 {
		second := w.must(create("Member", "@second", "Name", "S", "Nickname", "s", "DefaultRole", "Role:1"))[0]
		errs := make(chan error, 2)
		for _, token := range []string{"Member:20", second} {
			go func() {
				errs <- w.e.Write(t.Context(), auth.System, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
					done, err := s.Run(t.Context(), []*asset.Command{update(token, "IsLoginDisabled", "true")})
					return errors.Join(err, done[0].Err)
				})
			}()
		}
		one, other := <-errs, <-errs
		if (one == nil) == (other == nil) {
			t.Fatalf("%v; %v", one, other)
		}
		w.must(update("Member:20", "IsLoginDisabled", "false"))
		w.must(operate(second, "Inactivate"))
	}
}

// refusing refuses the first call of Set, and ignores later calls.
type refusing struct {
	logins
	refused *bool
}

func (r refusing) Set(context.Context, *db.Tx, int64, *string, *string) error {
	if *r.refused {
		return nil
	}
	*r.refused = true
	return fault.Conflictf(nil, "Violation'NotUnique'Member.Username")
}

// If the database refuses a batch, its commands run again one by one. The passwords of the first
// try then do not count towards MaxOwnPasswords.
func TestPasswordsOfASecondTryCountOnce(t *testing.T) {
	each(t, func(t *testing.T, w *harness) {
		member := w.member()
		e := asset.New(w.d, model, refusing{refused: new(bool)}, nil)
		text := func(s string) []asset.Value { return []asset.Value{{Kind: asset.Text, Text: s}} }
		var commands []*asset.Command
		for range asset.MaxOwnPasswords {
			c := update(member)
			c.Changes = []asset.Change{{Name: asset.OldPassword, Set: text("old"), Sealed: "proven"}, {Name: "Password", Set: text("new")}}
			commands = append(commands, c)
		}
		err := e.Write(t.Context(), auth.Actor{Member: id(member)}, asset.Request{ID: uuid.NewString()}, func(s *asset.Session) error {
			done, err := s.Run(t.Context(), commands)
			for i, o := range done {
				if o.Err != nil {
					t.Errorf("password %d: %v", i, o.Err)
				}
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
