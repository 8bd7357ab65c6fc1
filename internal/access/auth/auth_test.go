package auth

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// clock is the clock of a test. Only pass changes its time.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// fixture is a database with a Service.
type fixture struct {
	testing.TB
	d     *db.DB
	s     *Service
	clock *clock
	model *meta.Model
}

// cheap is the cost of hashes in tests that do not test the hashes.
var cheap = cost{memory: 64, time: 1, lanes: 1}

func newFixture(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	c := &clock{t: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w := newFixtureAt(t, d, c.now)
	w.clock = c
	w.s.cost, w.s.dummy = cheap, hashPassword("nobody's", cheap)
	wait := func(ctx context.Context, d time.Duration) error { c.pass(d); return ctx.Err() }
	w.s.memberThrottle.sleep, w.s.unknownThrottle.sleep, w.s.proofThrottle.sleep = wait, wait, wait
	return w
}

// newFixtureAt returns a fixture with another clock and hashes of the standard cost.
func newFixtureAt(t testing.TB, d *db.DB, now func() time.Time) *fixture {
	t.Helper()
	m := meta.Default()
	s, err := New(d, m, Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{TB: t, d: d, s: s, model: m}
}

func (w *fixture) exec(query string, args ...any) {
	w.Helper()
	err := w.d.Write(w.Context(), func(tx *db.Tx) error {
		_, err := tx.Exec(w.Context(), query, args...)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// member inserts a member. role is the number of its default role, as in an Oid.
func (w *fixture) member(id int64, state int, role int64) {
	w.Helper()
	typ, _ := w.model.Type("Member")
	const columns = "id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by"
	w.exec("INSERT INTO asset ("+columns+") VALUES (?, ?, ?, 1, 1, 1, 0, 20, 0, 20)", id, typ.Code, state)
	w.exec("INSERT INTO asset_version ("+columns+", until_moment, linked) VALUES (?, ?, ?, 1, 1, 1, 0, 20, 0, 20, ?, 0)", id, typ.Code, state, db.Forever)
	w.exec("INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment) VALUES (?, ?, ?, ?, 1, ?)",
		w.s.roles.relation, typ.Code, id, w.role(role), db.Forever)
}

func (w *fixture) role(shown int64) int64 {
	typ, _ := w.model.Type("Role")
	return typ.Stored(shown)
}

func (w *fixture) set(member int64, username, password string) error {
	var u, p *string
	if username != "" {
		u = &username
	}
	if password != "" {
		sealed, err := w.s.Seal(w.Context(), password)
		if err != nil {
			return err
		}
		p = &sealed
	}
	return w.d.Write(w.Context(), func(tx *db.Tx) error {
		return w.s.Set(w.Context(), tx, member, u, p)
	})
}

func (w *fixture) mustSet(member int64, username, password string) {
	w.Helper()
	if err := w.set(member, username, password); err != nil {
		w.Fatal(err)
	}
}

// wantLogin logs in and checks the member of the login. want 0: the login is refused.
func (w *fixture) wantLogin(why, username, password string, want int64) {
	w.Helper()
	a, err := w.s.Basic(w.Context(), username, password, "192.0.2.1")
	if want == 0 && fault.KindOf(err) != fault.Unproven {
		w.Errorf("%s: %+v, %v; want a refusal", why, a, err)
	}
	if want != 0 && (err != nil || a.Member != want) {
		w.Errorf("%s: %+v, %v; want member %d", why, a, err, want)
	}
}

func TestBasic(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.member(1001, 64, 4)
		w.member(1002, 128, 4)
		w.mustSet(20, "admin", "secret")
		w.mustSet(1001, "nopass", "")
		w.mustSet(1002, "closed", "secret")
		w.wantLogin("the right password", "admin", "secret", 20)
		w.wantLogin("again, remembered", "admin", "secret", 20)
		w.wantLogin("the name in another case", "Admin", "secret", 20)
		w.wantLogin("the name with an accent", "ádmin", "secret", 0)
		w.wantLogin("the name with a space of no width", "admin\u200b", "secret", 0)
		w.wantLogin("the name with a space behind it", "admin ", "secret", 0)
		w.wantLogin("a wrong password", "admin", "Secret", 0)
		w.wantLogin("no password", "admin", "", 0)
		w.wantLogin("a name nobody has", "ghost", "secret", 0)
		w.wantLogin("a member without a password", "nopass", "", 0)
		w.wantLogin("a member who is inactive", "closed", "secret", 0)
		w.wantLogin("a name that is no UTF-8", "adm\xffin", "secret", 0)
		w.wantLogin("a password that is no UTF-8", "admin", "secret\xff", 0)
		w.wantLogin("a password longer than any", "admin", strings.Repeat("x", maxPassword+1), 0)
		if n := testutil.ToFloat64(w.s.m.logins.WithLabelValues("basic", remembered)); n != 2 {
			t.Errorf("%v logins were remembered; want the repeated one, and the one in another case", n)
		}
		a, _ := w.s.Proven(t.Context(), Login{Member: 20})
		if !a.Admin || !a.All || a.Scopes != nil {
			t.Errorf("the system administrator is %+v", a)
		}
	})
}

func TestAChangedCredentialCounts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "old")
		w.wantLogin("before", "admin", "old", 20)
		w.mustSet(20, "", "new")
		w.wantLogin("the new password at once", "admin", "new", 20)
		w.clock.pass(maxAge)
		w.wantLogin("the old one a second later", "admin", "old", 0)
		w.mustSet(20, "root", "")
		w.clock.pass(maxAge)
		w.wantLogin("the new name with the password kept", "root", "new", 20)
		w.wantLogin("the old name", "admin", "new", 0)
		w.exec(`UPDATE asset SET attrs = '{"IsLoginDisabled": true}'`)
		w.clock.pass(maxAge)
		w.wantLogin("a member whose login is disabled", "root", "new", 0)
		w.exec(`UPDATE asset SET attrs = '{"IsLoginDisabled": false}'`)
		w.clock.pass(maxAge)
		w.wantLogin("a member whose login is enabled again", "root", "new", 20)
		w.exec("UPDATE credential SET disabled = 1")
		w.clock.pass(maxAge)
		w.wantLogin("a disabled login", "root", "new", 0)
	})
}

func TestSetRefuses(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.member(1001, 64, 4)
		w.mustSet(20, "admin", "x")
		for _, c := range []struct {
			why, username, password string
			kind                    fault.Kind
			msg                     string
		}{
			{"a name another member has", "ADMIN", "x", fault.Conflict, "Violation'NotUnique'Member.Username"},
			{"a name with a colon, which Basic cannot carry", "a:b", "x", fault.Invalid, "Violation'Invalid'Member.Username"},
			{"a name longer than the column", strings.Repeat("n", 256), "x", fault.Invalid, "Violation'Invalid'Member.Username"},
			{"a password too long to hash", "b", strings.Repeat("x", maxPassword+1), fault.Invalid, "Violation'Invalid'Member.Password"},
			{"a password without a name to go with", "", "x", fault.Invalid, "Violation'Required'Member.Username"},
		} {
			if err := w.set(1001, c.username, c.password); fault.KindOf(err) != c.kind || fault.Public(err) != c.msg {
				t.Errorf("%s: %v", c.why, err)
			}
		}
	})
}

func TestTokens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		ctx := t.Context()
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "x")
		token, err := w.s.CreateToken(ctx, "Admin", TokenOptions{Name: "loader"})
		if err != nil || !strings.HasPrefix(token, "1.") || len(token) != 46 {
			t.Fatalf("CreateToken: %q, %v", token, err)
		}
		bearer := func(why, token string, ok bool) {
			t.Helper()
			a, err := w.s.Bearer(ctx, token)
			if ok != (err == nil && a.Member == 20) || !ok && fault.KindOf(err) != fault.Unproven {
				t.Errorf("%s: %+v, %v", why, a, err)
			}
		}
		bearer("the token", token, true)
		bearer("one letter changed", token[:10]+"A"+token[11:], token[10] == 'A')
		bearer("nothing", "", false)
		bearer("its hash", hashToken(token), false)
		bearer("something long", strings.Repeat("x", 10_000), false)
		w.exec("UPDATE access_token SET revoked_at = 1")
		bearer("revoked, but read less than a second ago", token, true)
		w.clock.pass(maxAge)
		bearer("revoked", token, false)
		w.exec(`UPDATE access_token SET revoked_at = NULL`)
		w.exec(`UPDATE asset SET attrs = '{"IsLoginDisabled": true}'`)
		bearer("of a member whose login is disabled", token, false)
		w.exec(`UPDATE asset SET attrs = NULL`)
		bearer("enabled again", token, true)
		w.clock.pass(maxAge)
		w.exec("UPDATE access_token SET revoked_at = NULL, expires_at = ?", w.clock.now().UnixMicro()-1)
		bearer("expired", token, false)
		if _, err := w.s.CreateToken(ctx, "ghost", TokenOptions{Name: "x"}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a token for nobody: %v", err)
		}
		if _, err := w.s.CreateToken(ctx, "admin", TokenOptions{}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("a token without a name: %v", err)
		}
	})
}

func TestRights(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		// The scope tree: 1001 and 1003 are below 0, and 1002 is below 1001.
		for _, c := range [][3]int64{{0, 0, 0}, {1001, 1001, 0}, {1002, 1002, 0}, {1003, 1003, 0}, {0, 1001, 1}, {0, 1003, 1}, {0, 1002, 2}, {1001, 1002, 1}} {
			w.exec("INSERT INTO scope_closure (ancestor_id, descendant_id, depth, since_moment, until_moment) VALUES (?, ?, ?, 1, ?)", c[0], c[1], c[2], db.Forever)
		}
		next := int64(2000)
		for _, c := range []struct {
			why    string
			role   int64      // default role
			held   [][2]int64 // scope, role
			admin  bool
			scopes []int64
		}{
			{"System Admin by default", 1, nil, true, nil},
			{"System Admin at the root", 4, [][2]int64{{0, 1}}, true, nil},
			{"System Admin of one project", 4, [][2]int64{{1001, 1}}, false, []int64{1001, 1002}},
			{"no project at all", 4, nil, false, []int64{}},
			{"a role at the root reads the tree", 4, [][2]int64{{0, 8}}, false, []int64{0, 1001, 1002, 1003}},
			{"a role below reads only that", 4, [][2]int64{{1002, 4}}, false, []int64{1002}},
			{"No Access hides a project from a reader of its parent", 4, [][2]int64{{0, 4}, {1001, 0}}, false, []int64{0, 1003}},
			{"a nearer role opens it again", 4, [][2]int64{{0, 4}, {1001, 0}, {1002, 4}}, false, []int64{0, 1002, 1003}},
			{"Inheritor sees no contents", 4, [][2]int64{{1001, 10}}, false, []int64{}},
		} {
			next++
			w.member(next, 64, c.role)
			for _, h := range c.held {
				w.exec("INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) VALUES (?, ?, ?, 0, 5, ?)", h[0], next, w.role(h[1]), db.Forever)
			}
			a, err := w.s.ActorOf(t.Context(), next)
			if err != nil || a.Admin != c.admin || a.All != c.admin || !slices.Equal(a.Scopes, c.scopes) || (a.Scopes == nil) != a.All {
				t.Errorf("%s: %+v, %v", c.why, a, err)
			}
			before, err := w.s.ActorAt(t.Context(), next, 4)
			if err != nil || len(before.Scopes) != 0 {
				t.Errorf("%s, before the roles were given: %+v, %v", c.why, before, err)
			}
		}
		if _, err := w.s.ActorOf(t.Context(), 1003); fault.KindOf(err) != fault.NotFound {
			t.Errorf("a member who does not exist: %v", err)
		}
	})
}

func TestRightsAreASecondOldAtMost(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(20, 64, 4)
	if a, _ := w.s.ActorOf(t.Context(), 20); a.Admin {
		t.Fatal("a team member is no administrator")
	}
	w.exec("UPDATE asset_link SET to_id = ?", w.role(1))
	w.clock.pass(maxAge)
	if a, err := w.s.ActorOf(t.Context(), 20); err != nil || !a.Admin {
		t.Errorf("a second later: %+v, %v", a, err)
	}
}

func TestRightsWrittenByThisProcessCountAtOnce(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	w.member(1001, 64, 4)
	w.exec("INSERT INTO scope_closure (ancestor_id, descendant_id, depth, since_moment, until_moment) VALUES (0, 0, 0, 1, ?)", db.Forever)
	if a, err := w.s.ActorOf(t.Context(), 1001); err != nil || len(a.Scopes) != 0 {
		t.Fatalf("before: %+v, %v", a, err)
	}
	w.exec("INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) VALUES (0, 1001, ?, 0, 5, ?)", w.role(4), db.Forever)
	w.s.RolesChanged(false)
	if a, err := w.s.ActorOf(t.Context(), 1001); err != nil || !slices.Equal(a.Scopes, []int64{0}) {
		t.Errorf("after: %+v, %v", a, err)
	}

	w.member(20, 64, 1)
	if a, err := w.s.ActorOf(t.Context(), 20); err != nil || !a.Admin {
		t.Fatalf("an administrator: %+v, %v", a, err)
	}
	w.exec("UPDATE asset_link SET to_id = ? WHERE from_id = 20", w.role(4))
	w.s.RolesChanged(true)
	if a, err := w.s.ActorOf(t.Context(), 20); err != nil || a.Admin {
		t.Errorf("an administrator who is one no longer: %+v, %v", a, err)
	}
}

func TestConcurrentEqualLoginsAreOneAttempt(t *testing.T) {
	w := newFixtureAt(t, testdb.SQLite(t), time.Now)
	w.member(20, 64, 1)
	w.mustSet(20, "admin", "secret")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if a, err := w.s.Basic(context.Background(), "admin", "secret", "192.0.2.1"); err != nil || a.Member != 20 {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
	wg.Wait()
}

func TestPHC(t *testing.T) {
	phc := hashPassword("pässword", cheap)
	if !strings.HasPrefix(phc, "$argon2id$v=19$m=64,t=1,p=1$") || !matches(phc, "pässword") || matches(phc, "password") {
		t.Errorf("hash %q", phc)
	}
	if phc == hashPassword("pässword", cheap) {
		t.Error("two hashes of one password are the same")
	}
	// This hash is from another implementation.
	const known = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !matches(known, "password") {
		t.Error("a known hash does not match its password")
	}
	for why, bad := range map[string]string{
		"empty":                  "",
		"not PHC":                "secret",
		"another algorithm":      strings.Replace(phc, "argon2id", "argon2i", 1),
		"another version":        strings.Replace(phc, "v=19", "v=16", 1),
		"more memory than there": strings.Replace(phc, "m=64", "m=4294967295", 1),
		"no passes":              strings.Replace(phc, "t=1", "t=0", 1),
		"no hash":                phc[:strings.LastIndex(phc, "$")+1],
	} {
		if matches(bad, "pässword") {
			t.Errorf("%s: %q matches", why, bad)
		}
	}
}

func TestCachesAreBounded(t *testing.T) {
	c := &clock{}
	r := newCache[int, int](100, time.Second, c.now)
	for i := range 10_000 {
		r.put(i, i, c.now())
	}
	if len(r.entries) > 100 {
		t.Errorf("%d remembered", len(r.entries))
	}
	if v, ok := r.get(9_999); !ok || v != 9_999 {
		t.Error("the newest was forgotten")
	}
}

// TestAnOldPasswordStaysOld checks a login that was removed and created again. The member cannot
// log in with the old password, although the process still has it in its cache.
func TestAnOldPasswordStaysOld(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "old")
		w.wantLogin("at first", "admin", "old", 20)
		none := ""
		err := d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 20, &none, nil) })
		if err != nil {
			t.Fatal(err)
		}
		w.mustSet(20, "admin", "new")
		w.clock.pass(maxAge)
		w.wantLogin("with the old password", "admin", "old", 0)
		w.wantLogin("with the new password", "admin", "new", 20)
	})
}

// TestTheFirstPassword checks that Ensure sets a password only for a member that has a username
// and no password.
func TestTheFirstPassword(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		named := func(member int64, name string, state int) {
			w.member(member, state, 1)
			w.exec("UPDATE asset SET attrs = ? WHERE id = ?", `{"`+w.s.roles.usernameKey+`": "`+name+`"}`, member)
		}
		ensure := func(member int64) {
			t.Helper()
			if err := w.s.Ensure(t.Context(), member, "first"); err != nil {
				t.Fatal(err)
			}
		}
		named(20, "root", 64)
		ensure(20)
		w.wantLogin("a new one", "root", "first", 20)
		w.mustSet(20, "root", "second")
		w.clock.pass(maxAge)
		ensure(20)
		w.wantLogin("one who has a password", "root", "second", 20)
		named(21, "", 64)
		ensure(21)
		named(22, "root", 255)
		ensure(22)
		w.clock.pass(maxAge)
		w.wantLogin("beside one without a username, and a deleted one", "root", "second", 20)
		ensure(23)
		var logins int
		if err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM credential").Scan(&logins); err != nil || logins != 1 {
			t.Errorf("%d logins, %v", logins, err)
		}
	})
}
