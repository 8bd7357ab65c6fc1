package auth

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// owners returns a fixture with a system administrator, 20, and two members, 1001 and 1002.
func owners(t *testing.T, d *db.DB) *fixture {
	w := newFixture(t, d)
	w.member(20, 64, 1)
	w.member(1001, 64, 4)
	w.member(1002, 64, 4)
	w.mustSet(20, "admin", "x")
	w.mustSet(1001, "cara", "x")
	w.mustSet(1002, "dan", "x")
	return w
}

// basic logs in with the password that all members of owners have.
func (w *fixture) basic(username string) Login {
	w.Helper()
	l, err := w.s.Basic(w.Context(), username, "x", "192.0.2.1")
	if err != nil {
		w.Fatal(err)
	}
	return l
}

func (w *fixture) bearer(token string) Login {
	w.Helper()
	l, err := w.s.Bearer(w.Context(), token)
	if err != nil {
		w.Fatal(err)
	}
	return l
}

// who returns the actor of a login.
func (w *fixture) who(l Login) Actor {
	w.Helper()
	a, err := w.s.Proven(w.Context(), l)
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func (w *fixture) made(l Login, body string) TokenView {
	w.Helper()
	v, err := w.s.MakeToken(w.Context(), l, w.who(l), []byte(body), false)
	if err != nil {
		w.Fatalf("%s: %v", body, err)
	}
	return v
}

func (w *fixture) wantKind(why string, err error, want fault.Kind, message string) {
	w.Helper()
	if fault.KindOf(err) != want || err == nil || fault.Public(err) != message {
		w.Errorf("%s: %v (%s); want %q (%s)", why, err, fault.KindOf(err), message, want)
	}
}

// listed returns the names of the tokens of a member. The name of the current token is in
// brackets.
func (w *fixture) listed(l Login, member string) string {
	w.Helper()
	list, err := w.s.ListTokens(w.Context(), l, w.who(l), member)
	if err != nil {
		w.Fatal(err)
	}
	names := make([]string, len(list.Tokens))
	for i, v := range list.Tokens {
		if names[i] = v.Name; v.Current {
			names[i] = "[" + v.Name + "]"
		}
	}
	return strings.Join(names, " ")
}

func TestMembersMakeTokens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		session := w.made(w.basic("cara"), `{"session": true}`)
		if session.Name != "Session" || !session.Session || !session.EndsWithPassword || session.Member != "Member:1001" ||
			session.Expires == nil || *session.Expires != "2026-01-09T03:04:05.0000000Z" || session.Created != "2026-01-02T03:04:05.0000000Z" {
			t.Errorf("a session: %+v", session)
		}
		in := w.bearer(session.Token)
		if in.Member != 1001 || in.tokenID != session.ID || !in.session || in.byPassword() || !w.basic("cara").byPassword() {
			t.Errorf("signed in as %+v", in)
		}
		w.clock.pass(time.Second)
		loader := w.made(in, `{"name": "loader", "expires": "2026-02-01", "endsWithPassword": null}`)
		if loader.Session || loader.EndsWithPassword || loader.LastUsed != nil || *loader.Expires != "2026-02-01T00:00:00.0000000Z" {
			t.Errorf("a token: %+v", loader)
		}
		w.wantBearer("a token made by a session", loader.Token, 1001)
		app := w.bearer(loader.Token)
		if app.session || app.tokenID != loader.ID {
			t.Errorf("signed in as %+v", app)
		}
		make := func(l Login, body string) error {
			_, err := w.s.MakeToken(t.Context(), l, Actor{}, []byte(body), false)
			return err
		}
		w.wantKind("a token by a token", make(app, `{"name": "x"}`), fault.Denied, "An access token cannot make another")
		w.wantKind("a session by a token", make(app, `{"session": true}`), fault.Denied, "A session needs the password")
		w.wantKind("a session by a session", make(in, `{"session": true}`), fault.Denied, "A session needs the password")
		w.made(w.basic("cara"), `{"session": true, "name": "Phone", "endsWithPassword": true, "expires": null}`)
		w.s.usage.writers.Wait()
		w.clock.pass(7*24*time.Hour - 2*time.Second)
		w.wantBearer("before its end", session.Token, 1001)
		w.clock.pass(time.Second)
		w.wantBearer("at its end", session.Token, 0)
	})
}

func TestTokensThatAreNotMade(t *testing.T) {
	w := owners(t, testdb.SQLite(t))
	for _, c := range []struct {
		body string
		at   int
	}{
		{`[]`, 0},
		{`[{"name": "x"}]`, 0},
		{`{}`, fault.NoPlace},
		{`{"name": ""}`, fault.NoPlace},
		{`{"name": "a\nb"}`, fault.NoPlace},
		{`{"name": "` + strings.Repeat("n", maxName+1) + `"}`, fault.NoPlace},
		{`{"name": 7}`, 9},
		{`{"name": "x", "Session": true}`, 25},
		{`{"name": "x", "session": "true"}`, 26},
		{`{"name": "x", "endsWithPassword": 1}`, 34},
		{`{"name": "x", "expires": "soon"}`, 26},
		{`{"name": "x", "expires": "0001-01-01"}`, 26},
		{`{"name": "x", "expires": 7}`, 25},
		{`{"name": "x", "expires": "2026-01-02"}`, fault.NoPlace},
		{`{"session": true, "expires": "2026-02-01"}`, 30},
		{`{"session": true, "endsWithPassword": false}`, 38},
		{`{"session": true, "name": ""}`, fault.NoPlace},
	} {
		_, err := w.s.MakeToken(t.Context(), w.basic("cara"), Actor{}, []byte(c.body), false)
		if fault.KindOf(err) != fault.Invalid || err == nil || fault.Place(err) != c.at {
			t.Errorf("%s: %v at %d", c.body, err, fault.Place(err))
		}
	}
	if v, err := w.s.MakeToken(t.Context(), w.basic("cara"), Actor{}, []byte("name: x\nexpires: 2026-02-01\n"), true); err != nil || v.Name != "x" {
		t.Errorf("YAML: %+v, %v", v, err)
	}
}

func TestTokensOfAMemberAreBounded(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		l := w.basic("cara")
		var made []TokenView
		for i := range maxTokens {
			made = append(made, w.made(l, fmt.Sprintf(`{"name": "t%d"}`, i)))
			w.clock.pass(time.Second)
		}
		_, err := w.s.MakeToken(t.Context(), l, Actor{}, []byte(`{"name": "x"}`), false)
		w.wantKind("one more", err, fault.Invalid, "A member has at most 100 access tokens: revoke one first")
		w.made(w.basic("dan"), `{"name": "x"}`)

		var sessions []TokenView
		for range maxSessions + 2 {
			sessions = append(sessions, w.made(l, `{"session": true}`))
			w.clock.pass(time.Second)
		}
		for i, v := range sessions {
			want := int64(1001)
			if i < 2 {
				want = 0
			}
			w.wantBearer(fmt.Sprint("session ", i), v.Token, want)
		}
		for i := range made {
			if _, err := w.s.EndToken(t.Context(), l, w.who(l), made[i].ID); err != nil {
				t.Fatal(err)
			}
			w.made(l, `{"name": "x"}`)
		}
		w.made(l, `{"session": true}`)
		if n := len(w.rows(1001)); n != maxTokens+maxEnded+maxSessions+3 {
			t.Errorf("%d rows", n)
		}
		if _, err := w.s.EndToken(t.Context(), l, w.who(l), w.of(1001, "x").ID); err != nil {
			t.Fatal(err)
		}
		w.made(l, `{"name": "x"}`)
		if n := len(w.rows(1001)); n != maxTokens+maxEnded+maxSessions+3 {
			t.Errorf("%d rows, once one was too many", n)
		}
	})
}

// rows returns the tokens of a member from the database, oldest first.
func (w *fixture) rows(member int64) []tokenRow {
	w.Helper()
	var rows []tokenRow
	if err := w.d.Gorm(w.Context()).Where("member_id = ?", member).Order("created_at, id").Find(&rows).Error; err != nil {
		w.Fatal(err)
	}
	return rows
}

// of returns a valid token of a member by its name.
func (w *fixture) of(member int64, name string) tokenRow {
	w.Helper()
	rows := w.rows(member)
	i := slices.IndexFunc(rows, func(r tokenRow) bool { return r.Name == name && r.isValid(w.clock.now()) })
	if i < 0 {
		w.Fatalf("%d has no token %s", member, name)
	}
	return rows[i]
}

func TestMembersListTokens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		l := w.basic("cara")
		if got := w.listed(l, ""); got != "" {
			t.Errorf("of one without any: %q", got)
		}
		for _, body := range []string{`{"name": "a"}`, `{"name": "b", "expires": "2026-01-03"}`, `{"name": "c"}`, `{"session": true, "name": "s"}`} {
			w.made(l, body)
			w.clock.pass(time.Second)
		}
		w.made(w.basic("dan"), `{"name": "his"}`)
		if _, err := w.s.EndToken(t.Context(), l, w.who(l), w.of(1001, "c").ID); err != nil {
			t.Fatal(err)
		}
		if got := w.listed(l, "Member:1001"); got != "s b a" {
			t.Errorf("her own: %q", got)
		}
		in := w.bearer(w.made(l, `{"session": true, "name": "now"}`).Token)
		w.clock.pass(24 * time.Hour)
		if got := w.listed(in, ""); got != "[now] s a" {
			t.Errorf("after one has expired: %q", got)
		}
		admin := w.basic("admin")
		if got := w.listed(admin, "Member:1002"); got != "his" {
			t.Errorf("those of another: %q", got)
		}
		for oid, want := range map[string]fault.Kind{
			"Member:4711": fault.NotFound, "Story:1001": fault.Invalid, "1001": fault.Invalid, "Member:1001:7": fault.Invalid,
		} {
			if _, err := w.s.ListTokens(t.Context(), admin, w.who(admin), oid); fault.KindOf(err) != want {
				t.Errorf("%s: %v", oid, err)
			}
			if _, err := w.s.ListTokens(t.Context(), l, w.who(l), oid); fault.KindOf(err) != fault.Denied {
				t.Errorf("%s by a member: %v", oid, err)
			}
		}
		w.exec("UPDATE asset SET state = 255 WHERE id = 1002")
		if _, err := w.s.ListTokens(t.Context(), admin, w.who(admin), "Member:1002"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("of a deleted member: %v", err)
		}
	})
}

func TestMembersRevokeTokens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		log := trail.New(d, w.model, trail.Options{})
		cara, dan, admin := w.basic("cara"), w.basic("dan"), w.basic("admin")
		one, two := w.made(cara, `{"name": "one"}`), w.made(cara, `{"name": "two"}`)
		ctx := trail.With(t.Context(), trail.Origin{Member: 1001, Address: "192.0.2.7"})
		if _, err := w.s.MakeToken(ctx, cara, Actor{}, []byte(`{"session": true}`), false); err != nil {
			t.Fatal(err)
		}
		w.exec("DELETE FROM audit_trail WHERE address IS NULL")
		for _, id := range []string{one.ID, one.Token, "x", "", "current'", "\xff", strings.Repeat("1", 36)} {
			_, err := w.s.EndToken(t.Context(), dan, w.who(dan), id)
			w.wantKind("a foreign or unknown one", err, fault.NotFound, "Not Found")
		}
		_, err := w.s.EndToken(t.Context(), cara, w.who(cara), "current")
		w.wantKind("with a password", err, fault.Invalid, "The request was made with a password, not with a token")
		w.wantBearer("nothing has happened", one.Token, 1001)
		for range 2 {
			v, err := w.s.EndToken(ctx, cara, w.who(cara), strings.ToUpper(one.ID))
			if one.Token = ""; err != nil || v.ID != one.ID || v.Name != "one" || v.Token != "" {
				t.Errorf("%+v, %v", v, err)
			}
		}
		ctx = trail.With(t.Context(), trail.Origin{Member: 20, Address: "192.0.2.8"})
		if v, err := w.s.EndToken(ctx, admin, w.who(admin), two.ID); err != nil || v.Member != "Member:1001" {
			t.Errorf("by an administrator: %+v, %v", v, err)
		}
		w.wantEvents("the audit", w.events(log), "TokenCreated by Member:1001 at 192.0.2.7 of Member:1001:   Session  ×1",
			"TokenRevoked by Member:1001 at 192.0.2.7 of Member:1001:   one  ×1", "TokenRevoked by Member:20 at 192.0.2.8 of Member:1001:   two  ×1")
	})
}
