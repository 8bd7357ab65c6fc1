package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// token creates a token for a member.
func (w *fixture) token(username string, o TokenOptions) string {
	w.Helper()
	if o.Name == "" {
		o.Name = "test"
	}
	token, err := w.s.CreateToken(w.Context(), username, o)
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// wantBearer logs in with a token and checks the member. want 0: the login is refused.
func (w *fixture) wantBearer(why, token string, want int64) {
	w.Helper()
	a, err := w.s.Bearer(w.Context(), token)
	if want == 0 && fault.KindOf(err) != fault.Unproven || want != 0 && (err != nil || a.Member != want) {
		w.Errorf("%s: %+v, %v; want member %d", why, a, err, want)
	}
}

// tokens returns the tokens of all members by name.
func (w *fixture) tokens() map[string]Token {
	w.Helper()
	all, err := w.s.Tokens(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	named := map[string]Token{}
	for _, t := range all {
		named[t.Name] = t
	}
	return named
}

// A token is refused from the time at which it expires, even if it was used shortly before and is
// cached.
func TestATokenExpires(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "x")
		token := w.token("admin", TokenOptions{Expires: w.clock.now().Add(time.Hour)})
		w.clock.pass(time.Hour - 200*time.Millisecond)
		w.wantBearer("just before", token, 20)
		w.clock.pass(199 * time.Millisecond)
		w.wantBearer("a millisecond before", token, 20)
		w.clock.pass(time.Millisecond)
		w.wantBearer("at its end", token, 0)
		w.clock.pass(time.Minute)
		w.wantBearer("later", token, 0)
		if _, err := w.s.CreateToken(t.Context(), "admin", TokenOptions{Name: "x", Expires: w.clock.now()}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("one that has ended before it begins: %v", err)
		}
	})
}

func TestATokenIsListedAndRevoked(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.member(1001, 128, 1)
		w.mustSet(20, "admin", "x")
		w.mustSet(1001, "Cara", "x")
		began := w.clock.now()
		token := w.token("admin", TokenOptions{Name: "loader", Expires: began.Add(time.Hour)})
		w.clock.pass(time.Second)
		w.token("cara", TokenOptions{Name: "report", EndsWithPassword: true})
		all, err := w.s.Tokens(t.Context(), "")
		if err != nil || len(all) != 2 {
			t.Fatalf("%+v, %v", all, err)
		}
		want := Token{ID: all[0].ID, Member: 20, Username: "admin", Name: "loader", Created: began, Expires: began.Add(time.Hour), MayLogin: true}
		if all[0] != want {
			t.Errorf("%+v, want %+v", all[0], want)
		}
		want = Token{ID: all[1].ID, Member: 1001, Username: "Cara", Name: "report", Created: began.Add(time.Second), EndsWithPassword: true}
		if all[1] != want {
			t.Errorf("%+v, want %+v", all[1], want)
		}
		if hers, err := w.s.Tokens(t.Context(), "CARA"); err != nil || len(hers) != 1 || hers[0] != want {
			t.Errorf("of one member: %+v, %v", hers, err)
		}
		if _, err := w.s.Tokens(t.Context(), "ghost"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("of nobody: %v", err)
		}
		w.wantBearer("before", token, 20)
		if revoked, err := w.s.RevokeToken(t.Context(), all[0].ID); err != nil || !revoked {
			t.Errorf("revoke: %v, %v", revoked, err)
		}
		w.clock.pass(maxAge)
		w.wantBearer("a second later", token, 0)
		if revoked, err := w.s.RevokeToken(t.Context(), all[0].ID); err != nil || revoked {
			t.Errorf("once more: %v, %v", revoked, err)
		}
		if w.tokens()["loader"].Revoked.IsZero() {
			t.Error("the list does not say that it was revoked")
		}
		if _, err := w.s.RevokeToken(t.Context(), token); fault.KindOf(err) != fault.NotFound {
			t.Errorf("by the token itself: %v", err)
		}
	})
}

// Tokens that end with the password are revoked in the transaction that changes the password, for
// every kind of change. All other tokens stay valid.
func TestTokensEndWithThePassword(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.member(1001, 64, 4)
		w.mustSet(20, "admin", "x")
		w.mustSet(1001, "cara", "x")
		stays := w.token("admin", TokenOptions{Name: "stays"})
		others := w.token("cara", TokenOptions{Name: "others", EndsWithPassword: true})
		ends := w.token("admin", TokenOptions{Name: "0", EndsWithPassword: true})
		w.mustSet(20, "root", "")
		w.wantBearer("after another username", ends, 20)
		undone := fmt.Errorf("undone")
		if err := d.Write(t.Context(), func(tx *db.Tx) error {
			sealed := "x"
			if err := w.s.Set(t.Context(), tx, 20, nil, &sealed); err != nil {
				return err
			}
			return undone
		}); err != undone { //nolint:errorlint // no wrapped error
			t.Fatal(err)
		}
		w.clock.pass(maxAge)
		w.wantBearer("after a change that was undone", ends, 20)
		none := ""
		for i, change := range []func(){
			func() { w.mustSet(20, "", "new") },
			func() { w.mustSet(20, "boss", "newer") },
			func() {
				if err := d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 20, &none, nil) }); err != nil {
					t.Fatal(err)
				}
			},
		} {
			change()
			w.clock.pass(maxAge)
			w.wantBearer(fmt.Sprint("after change ", i), ends, 0)
			if w.tokens()[fmt.Sprint(i)].Revoked.IsZero() {
				t.Errorf("change %d did not revoke it", i)
			}
			if i < 2 {
				name := []string{"root", "boss"}[i]
				ends = w.token(name, TokenOptions{Name: fmt.Sprint(i + 1), EndsWithPassword: true})
			}
		}
		w.wantBearer("a token that was not to end", stays, 20)
		w.wantBearer("a token of another member", others, 1001)
	})
}

// The last use of a token is stored once a minute, also if several processes see its uses.
func TestTheLastUseOfATokenIsStored(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "x")
		token := w.token("admin", TokenOptions{Name: "loader"})
		other := newFixtureAt(t, d, w.clock.now) // another process
		began := w.clock.now()
		for _, step := range []struct {
			pass time.Duration
			by   *fixture
			want time.Duration // stored time of the last use, counted from began
		}{{0, w, 0}, {time.Second, w, 0}, {20 * time.Second, other, 0}, {38 * time.Second, w, 0}, {2 * time.Second, other, 61 * time.Second}, {2 * time.Second, w, 61 * time.Second}, {60 * time.Second, w, 123 * time.Second}} {
			w.clock.pass(step.pass)
			step.by.wantBearer("use", token, 20)
			step.by.s.usage.writers.Wait()
			if got := w.tokens()["loader"].LastUsed; !got.Equal(began.Add(step.want)) {
				t.Errorf("%v after the begin it was last used at %v", w.clock.now().Sub(began), got.Sub(began))
			}
		}
	})
}

// If the last use of a token cannot be stored, the token still works.
func TestTheLastUseIsDroppedWithoutADatabase(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "x")
	token := w.token("admin", TokenOptions{})
	w.wantBearer("with it", token, 20)
	w.s.usage.writers.Wait()
	if err := w.d.Close(); err != nil {
		t.Fatal(err)
	}
	w.s.usage.record(cachedToken{id: "another"}, "192.0.2.1", w.clock.now())
	w.s.usage.writers.Wait()
	if w.s.usage.writing || len(w.s.usage.pending) != 0 {
		t.Error("the write goes on")
	}
	w.wantBearer("without it", token, 20)
}

func TestPendingUsesAreBounded(t *testing.T) {
	c := &clock{t: time.Unix(1e9, 0)}
	u := newUsageRecorder(nil, c.now)
	u.writing = true // as during a long write
	for i := range 10 * maxPending {
		u.record(cachedToken{id: fmt.Sprint(i)}, "192.0.2.1", c.now())
	}
	if len(u.pending) != maxPending {
		t.Errorf("%d wait", len(u.pending))
	}
}

func TestMayLogin(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		for i, c := range []struct {
			why   string
			state int
			spoil string // SQL statement that changes the login of the member; empty: none
			token TokenOptions
			want  bool
		}{
			{"a password", 64, "", TokenOptions{}, true},
			{"a closed member", 128, "", TokenOptions{}, false},
			{"a deleted member", 255, "", TokenOptions{}, false},
			{"a disabled login", 64, "UPDATE credential SET disabled = 1 WHERE member_id = ?", TokenOptions{}, false},
			{"a login disabled by attribute", 64, `UPDATE asset SET attrs = '{"IsLoginDisabled": true}' WHERE id = ?`, TokenOptions{}, false},
			{"no login any more", 64, "DELETE FROM credential WHERE member_id = ?", TokenOptions{}, false},
			{"a name without a password", 64, "UPDATE credential SET password_hash = NULL WHERE member_id = ?", TokenOptions{}, false},
			{"a token alone", 64, "DELETE FROM credential WHERE member_id = ?", TokenOptions{Name: "x"}, true},
			{"a token beside a name without a password", 64, "UPDATE credential SET password_hash = NULL WHERE member_id = ?", TokenOptions{Name: "x"}, true},
			{"a token of a closed member", 128, "DELETE FROM credential WHERE member_id = ?", TokenOptions{Name: "x"}, false},
			{"a token that is over", 64, "DELETE FROM credential WHERE member_id = ?", TokenOptions{Name: "x", Expires: time.Unix(1, 0)}, false},
		} {
			id := int64(1001 + i)
			name := fmt.Sprint("member", i)
			w.member(id, c.state, 4)
			w.mustSet(id, name, "secret")
			if c.token.Name != "" {
				if !c.token.Expires.IsZero() {
					c.token.Expires = w.clock.now().Add(time.Second)
				}
				w.token(name, c.token)
			}
			if c.spoil != "" {
				w.exec(c.spoil, id)
			}
			w.clock.pass(2 * time.Second)
			if may, err := w.s.MayLogin(t.Context(), id); err != nil || may != c.want {
				t.Errorf("%s: %v, %v", c.why, may, err)
			}
		}
		if may, err := w.s.MayLogin(t.Context(), 4711); err != nil || may {
			t.Errorf("nobody: %v, %v", may, err)
		}
	})
}
