package auth

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestAPasswordIsSetFromTheCommandLine checks that SetPassword has the effects of a change through
// the interface: it revokes sessions and tokens, and records an event. The event has the command
// line as its origin.
func TestAPasswordIsSetFromTheCommandLine(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		l := trail.New(d, w.model, trail.Options{Now: w.clock.now})
		w.member(1001, 64, 4)
		w.mustSet(1001, "Cara", "old one")
		stays := w.token("cara", TokenOptions{Name: "stays"})
		ends := w.token("cara", TokenOptions{Name: "ends", EndsWithPassword: true})
		session := w.token("cara", TokenOptions{Name: "Session", EndsWithPassword: true, session: true, Expires: w.clock.now().Add(time.Hour)})
		w.events(l)
		ctx := trail.With(t.Context(), trail.Origin{Address: trail.CommandLine})
		asked := 0
		set := func(username, password string) (bool, error) {
			return w.s.SetPassword(ctx, username, func() (string, error) { asked++; return password, nil })
		}
		if may, err := set("CARA", "new one"); err != nil || !may || asked != 1 {
			t.Fatalf("%v, %v, asked %d times", may, err, asked)
		}
		w.wantEvents("a password", w.events(l, "new one"), "LoginChanged by  at command line of Member:1001:    Password ×1",
			"TokenRevoked by  at command line of Member:1001:   Session  ×1", "TokenRevoked by  at command line of Member:1001:   ends  ×1")
		w.wantBearer("a token that ends", ends, 0)
		w.wantBearer("a session", session, 0)
		w.wantBearer("a token that stays", stays, 1001)
		w.wantLogin("the new one", "cara", "new one", 1001)
		w.wantLogin("the old one", "cara", "old one", 0)

		if _, err := set("ghost", "x"); fault.KindOf(err) != fault.NotFound || asked != 1 {
			t.Errorf("nobody's: %v, asked %d times", err, asked)
		}
		for _, password := range []string{"", strings.Repeat("x", maxPassword+1)} {
			if _, err := set("cara", password); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%d bytes: %v", len(password), err)
			}
		}
		broken := errors.New("no terminal")
		if _, err := w.s.SetPassword(ctx, "cara", func() (string, error) { return "", broken }); !errors.Is(err, broken) {
			t.Errorf("a password that cannot be read: %v", err)
		}
		w.wantEvents("nothing", w.events(l))
		w.exec("UPDATE asset SET state = 128 WHERE id = 1001")
		if may, err := set("cara", "third"); err != nil || may {
			t.Errorf("a closed member: %v, %v", may, err)
		}
	})
}

func TestWhoLacksAPassword(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for _, c := range []struct {
			why   string
			set   func()
			lacks bool
		}{
			{"a member who is not there yet", func() {}, true},
			{"one without a username", func() { w.member(20, 64, 1) }, false},
			{"one with a username", func() { w.exec("UPDATE asset SET attrs = ? WHERE id = 20", `{"`+w.s.roles.usernameKey+`": "root"}`) }, true},
			{"one with a password", func() { w.mustSet(20, "root", "x") }, false},
			{"a deleted one", func() { w.exec("DELETE FROM credential"); w.exec("UPDATE asset SET state = 255 WHERE id = 20") }, false},
		} {
			c.set()
			if lacks, err := w.s.LacksPassword(t.Context(), 20); err != nil || lacks != c.lacks {
				t.Errorf("%s: %v, %v", c.why, lacks, err)
			}
		}
	})
}
