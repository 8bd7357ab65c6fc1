package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// events returns the events of the audit trail since the last call, as sorted lines. The events
// must not contain any of the words in the parameter not.
func (w *fixture) events(l *trail.Log, not ...string) []string {
	w.Helper()
	p, err := l.Events(w.Context(), trail.Sight{All: true}, trail.Query{Page: "1000"})
	if err != nil {
		w.Fatal(err)
	}
	var lines []string
	for _, v := range p.Results {
		lines = append(lines, fmt.Sprintf("%s by %s at %s of %s: %s %s %s %s ×%d", v.Kind, v.Actor, v.Address, v.Member, v.Scheme, v.Reason, v.TokenName, strings.Join(v.Changed, ","), v.Count))
		for _, word := range not {
			if text := fmt.Sprintf("%+v", v); strings.Contains(text, word) {
				w.Errorf("an event shows %q: %s", word, text)
			}
		}
	}
	w.exec("DELETE FROM audit_trail")
	slices.Sort(lines)
	return lines
}

func (w *fixture) wantEvents(why string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s:\n%s\nwant\n%s", why, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// written waits until all noted events are written.
func written(t *testing.T, l *trail.Log) {
	t.Helper()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSignInsLeaveEvents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		l := trail.New(d, w.model, trail.Options{Now: w.clock.now})
		w.s.audit = l
		w.member(20, 64, 1)
		w.member(1001, 64, 4)
		w.mustSet(20, "admin", "right")
		w.mustSet(1001, "Cara", "right")
		token := w.token("admin", TokenOptions{Name: "loader", Expires: w.clock.now().Add(time.Hour)})
		w.events(l)
		from := func(address string) func(string, string) {
			ctx := trail.With(t.Context(), trail.Origin{Address: address})
			return func(username, password string) {
				if username == "" {
					_, _ = w.s.Bearer(ctx, password)
					return
				}
				_, _ = w.s.Basic(ctx, username, password, address)
			}
		}
		here, there := from("192.0.2.1"), from("2001:db8::7")
		for range 3 {
			here("ADMIN", "right")
			here("", token)
		}
		there("admin", "right")
		there("", token)
		written(t, l)
		w.wantEvents("sign-ins", w.events(l, "right", token),
			"SignIn by Member:20 at 192.0.2.1 of Member:20: basic    ×1", "SignIn by Member:20 at 192.0.2.1 of Member:20: bearer    ×1",
			"SignIn by Member:20 at 2001:db8::7 of Member:20: basic    ×1", "SignIn by Member:20 at 2001:db8::7 of Member:20: bearer    ×1")

		here("cara", "s3cret")
		here("cara", "s3cret too")
		here("my password by mistake", "x")
		here("another", "x")
		here("", "1.guessed")
		there(strings.Repeat("n", 2000), "x")
		w.exec("UPDATE asset SET state = 128 WHERE id = 1001")
		w.clock.pass(2 * time.Second)
		here("cara", "right")
		w.clock.pass(2 * time.Hour)
		here("", token)
		written(t, l)
		w.wantEvents("refused ones", w.events(l, "s3cret", "my password", "another", "guessed", "nnn", "right"),
			"SignInRefused by  at 192.0.2.1 of : basic unknown username   ×2",
			"SignInRefused by  at 192.0.2.1 of : bearer unknown or revoked token   ×1",
			"SignInRefused by  at 192.0.2.1 of Member:1001: basic the member may not log in   ×1",
			"SignInRefused by  at 192.0.2.1 of Member:1001: basic wrong password   ×2",
			"SignInRefused by  at 192.0.2.1 of Member:20: bearer expired token   ×1",
			"SignInRefused by  at 2001:db8::7 of : basic unknown username   ×1")
		here("admin", "right")
		written(t, l)
		w.wantEvents("after more than an hour", w.events(l), "SignIn by Member:20 at 192.0.2.1 of Member:20: basic    ×1")
	})
}

func TestTokensAndLoginsLeaveEvents(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		l := trail.New(d, w.model, trail.Options{})
		w.member(1001, 64, 1)
		w.mustSet(1001, "cara", "s3cret")
		w.wantEvents("a login", w.events(l, "s3cret", "cara"), "LoginChanged by  at  of Member:1001:    Username,Password ×1")
		token := w.token("cara", TokenOptions{Name: "stays"})
		w.token("cara", TokenOptions{Name: "ends", EndsWithPassword: true})
		w.wantEvents("tokens", w.events(l, token), "TokenCreated by  at  of Member:1001:   ends  ×1", "TokenCreated by  at  of Member:1001:   stays  ×1")
		w.mustSet(1001, "", "s3cret too")
		w.wantEvents("a password", w.events(l, "s3cret"), "LoginChanged by  at  of Member:1001:    Password ×1", "TokenRevoked by  at  of Member:1001:   ends  ×1")
		id := w.tokens()["stays"].ID
		for range 2 {
			if _, err := w.s.RevokeToken(trail.With(t.Context(), trail.Origin{Member: 20, Address: trail.CommandLine}), id); err != nil {
				t.Fatal(err)
			}
		}
		w.wantEvents("revoked, twice", w.events(l), "TokenRevoked by Member:20 at command line of Member:1001:   stays  ×1")
		none := ""
		if err := d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 1001, &none, nil) }); err != nil {
			t.Fatal(err)
		}
		w.wantEvents("no login", w.events(l), "LoginChanged by  at  of Member:1001:    Username ×1")
	})
}
