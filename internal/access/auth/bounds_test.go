package auth

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// tree adds the projects 1010, 1011 below it, and 1012 beside them, all below the root project. The
// member 1001 is a Team Member in all of them, and an Observer in 1011.
func (w *fixture) tree() {
	w.Helper()
	typ, _ := w.model.Type("Scope")
	const columns = "id, type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by"
	for _, id := range []int64{1010, 1011, 1012} {
		w.exec("INSERT INTO asset ("+columns+") VALUES (?, ?, 64, 1, 1, 1, 0, 20, 0, 20)", id, typ.Code)
	}
	for _, c := range [][3]int64{{0, 0, 0}, {1010, 0, 1}, {1011, 0, 2}, {1012, 0, 1}, {1010, 1010, 0}, {1011, 1011, 0}, {1012, 1012, 0}, {1011, 1010, 1}} {
		w.exec("INSERT INTO scope_closure (descendant_id, ancestor_id, depth, since_moment, until_moment) VALUES (?, ?, ?, 1, ?)", c[0], c[1], c[2], db.Forever)
	}
	for _, r := range [][2]int64{{1010, 4}, {1011, 8}, {1012, 4}} {
		w.exec("INSERT INTO scope_member (member_id, scope_id, role_id, is_owner, since_moment, until_moment) VALUES (1001, ?, ?, 0, 1, ?)", r[0], w.role(r[1]), db.Forever)
	}
}

func TestBoundsOfTokens(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		w.tree()
		roles := func(names ...meta.Role) []meta.Role { return names }
		for _, c := range []struct {
			who, bounds string
			scopes      []int64
			roles       []meta.Role
			admin       bool
		}{
			{"admin", `{"writes": "none"}`, nil, nil, true},
			{"admin", `{"projects": ["Scope:1010"]}`, []int64{1010, 1011}, roles(meta.SystemAdmin, meta.SystemAdmin), false},
			{"admin", `{"projects": ["Scope:1011", "Scope:1012"]}`, []int64{1011, 1012}, roles(meta.SystemAdmin, meta.SystemAdmin), false},
			{"admin", `{"types": ["Story"]}`, []int64{0, 1010, 1011, 1012}, roles(meta.SystemAdmin, meta.SystemAdmin, meta.SystemAdmin, meta.SystemAdmin), false},
			{"cara", `{"projects": ["Scope:1010"]}`, []int64{1010, 1011}, roles(4, 8), false},
			{"cara", `{"types": ["Story"]}`, []int64{1010, 1011, 1012}, roles(4, 8, 4), false},
			{"cara", `{"deletes": false}`, []int64{1010, 1011, 1012}, roles(4, 8, 4), false},
		} {
			token := w.made(w.basic(c.who), `{"name": "x", "bounds": `+c.bounds+`}`)
			l := w.bearer(token.Token)
			a := w.who(l)
			if !slices.Equal(a.Scopes, c.scopes) || !slices.Equal(a.Roles, c.roles) || a.Admin != c.admin || a.All != c.admin || !c.admin && a.System != meta.NoAccess {
				t.Errorf("%s with %s: %+v", c.who, c.bounds, a)
			}
			if a.AllMembers() != c.admin {
				t.Errorf("%s with %s sees all members: %v", c.who, c.bounds, a.AllMembers())
			}
			if err := w.s.check(t.Context(), l, a, 0); err != nil {
				t.Errorf("%s with %s while nothing changes: %v", c.who, c.bounds, err)
			}
			if got := w.listed(l, ""); got != "[x]" {
				t.Errorf("%s lists %s", c.bounds, got)
			}
			if _, err := w.s.EndToken(t.Context(), l, a, "current"); err != nil {
				t.Errorf("%s ends itself: %v", c.bounds, err)
			}
			w.clock.pass(time.Second)
		}
	})
}

// TestLimitsOfWriting checks which requests the bounds of a token let through.
func TestLimitsOfWriting(t *testing.T) {
	m := meta.Default()
	typ := func(name string) *meta.Type { t, _ := m.Type(name); return t }
	var none *Bounds
	for _, c := range []struct {
		bounds         *Bounds
		ways           string // in which the token may write
		reads, changes string
	}{
		{none, "directly by plan by proposal", "Story Defect Member Scope", "Story Defect Member Scope"},
		{&Bounds{Writes: NoWrites}, "", "Story Defect Member Scope", "Story Defect Scope"},
		{&Bounds{Writes: PlannedWrites}, "by plan by proposal", "Story Defect Member Scope", "Story Defect Scope"},
		{&Bounds{Writes: ProposedWrites}, "by proposal", "Story Defect Member Scope", "Story Defect Scope"},
		{&Bounds{NoDeletes: true}, "directly by plan by proposal", "Story Defect Member Scope", "Story Defect Scope"},
		{&Bounds{Types: []string{"Story"}}, "directly by plan by proposal", "Story Member Scope", "Story"},
		{&Bounds{Types: []string{"PrimaryWorkitem"}}, "directly by plan by proposal", "Story Defect Member Scope", "Story Defect"},
	} {
		var reads, changes []string
		for way, name := range map[Way]string{Directly: "directly", ByPlan: "by plan", ByProposal: "by proposal"} {
			if (c.bounds.Write(way) == nil) != strings.Contains(c.ways, name) {
				t.Errorf("%+v %s: %v", c.bounds, name, c.bounds.Write(way))
			}
		}
		for _, name := range []string{"Story", "Defect", "Member", "Scope"} {
			if c.bounds.Reads(typ(name)) {
				reads = append(reads, name)
			}
			if c.bounds.Changes(typ(name)) {
				changes = append(changes, name)
			}
		}
		if strings.Join(reads, " ") != c.reads || strings.Join(changes, " ") != c.changes {
			t.Errorf("%+v reads %v and changes %v", c.bounds, reads, changes)
		}
	}
}

func TestBoundsThatAreRefused(t *testing.T) {
	w := owners(t, testdb.SQLite(t))
	w.tree()
	w.exec("UPDATE asset SET state = ? WHERE id = 1012", meta.StateDeleted)
	for _, bounds := range []string{
		`[]`, `"none"`, `{"write": "none"}`, `{"writes": "some"}`, `{"writes": ""}`, `{"writes": 1}`, `{"deletes": "no"}`,
		`{"projects": "Scope:1010"}`, `{"projects": []}`, `{"projects": [1010]}`, `{"projects": ["Scope:9999"]}`, `{"projects": ["Story:1010"]}`,
		`{"projects": ["Scope:1010:1"]}`, `{"projects": ["Scope:1012"]}`, `{"projects": ["Scope:0"]}`, `{"types": []}`, `{"types": ["Member"]}`, `{"types": ["Story "]}`,
		`{"types": ["StoryStatus"]}`, `{"addresses": []}`, `{"addresses": ["localhost"]}`, `{"addresses": ["10.0.0.0/33"]}`, `{"addresses": ["fe80::1%eth0"]}`, `{"addresses": ["::ffff:10.0.0.0/90"]}`,
		`{"changes": 0}`, `{"changes": -1}`, `{"changes": "5"}`, `{"hourly": 1.5}`, `{"hourly": 1000000001}`, `{"hourly": true}`,
		`{"addresses": [` + strings.Repeat(`"10.0.0.1", `, maxBounds) + `"10.0.0.1"]}`,
	} {
		_, err := w.s.MakeToken(t.Context(), w.basic("cara"), w.who(w.basic("cara")), []byte(`{"name": "x", "bounds": `+bounds+`}`), false)
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", bounds, err)
		}
	}
	for name, b := range map[string]BoundsView{
		"projects": {Writes: "all", Projects: []string{}}, "types": {Writes: "all", Types: []string{}}, "addresses": {Writes: "all", Addresses: []string{}},
	} {
		_, err := w.s.CreateToken(t.Context(), "cara", TokenOptions{Name: "x", Bounds: &b})
		w.wantKind("no "+name+" at the command line", err, fault.Invalid, name+" must have at least one entry")
	}
	_, err := w.s.MakeToken(t.Context(), w.basic("cara"), w.who(w.basic("cara")), []byte(`{"session": true, "bounds": {"writes": "none"}}`), false)
	w.wantKind("a session", err, fault.Invalid, "A session has no bounds: leave out bounds")
	for _, nothing := range []string{`null`, `{}`, `{"writes": "all", "deletes": true, "types": null, "changes": null, "hourly": null}`} {
		if v := w.made(w.basic("cara"), `{"name": "x", "bounds": `+nothing+`}`); v.Bounds != nil {
			t.Errorf("%s: %+v", nothing, v.Bounds)
		}
	}
}

func TestATokenIsBoundToAddresses(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		token := w.made(w.basic("cara"), `{"name": "x", "bounds": {"addresses": ["192.0.2.7", "10.0.0.9/8", "2001:db8::/32", "::ffff:198.51.100.0/120"]}}`)
		if got := strings.Join(token.Bounds.Addresses, " "); got != "192.0.2.7/32 10.0.0.0/8 2001:db8::/32 198.51.100.0/24" {
			t.Errorf("the addresses are %s", got)
		}
		for address, accepted := range map[string]bool{
			"192.0.2.7": true, "::ffff:192.0.2.7": true, "10.255.0.1": true, "2001:db8::1": true, "2001:db8::1%eth0": true, "198.51.100.9": true,
			"192.0.2.8": false, "11.0.0.1": false, "2001:db9::1": false, "": false, "unix": false,
		} {
			_, err := w.s.Bearer(trail.With(t.Context(), trail.Origin{Address: address}), token.Token)
			if accepted != (err == nil) || err != nil && fault.KindOf(err) != fault.Unproven {
				t.Errorf("from %q: %v", address, err)
			}
		}
	})
}

// TestTheLastDayOfAToken checks when a token ends if the request does not say it, or says never.
func TestTheLastDayOfAToken(t *testing.T) {
	w := owners(t, testdb.SQLite(t))
	if v := w.made(w.basic("cara"), `{"name": "x"}`); v.Expires == nil || *v.Expires != "2026-04-02T03:04:05.0000000Z" {
		t.Errorf("a token without an end: %+v", v)
	}
	if v := w.made(w.basic("cara"), `{"name": "x", "expires": "never"}`); v.Expires != nil {
		t.Errorf("a token that never ends: %+v", v)
	}
}

// TestAProjectLeavesTheBounds checks that a running request ends when a project is moved out of the
// bounds of its token.
func TestAProjectLeavesTheBounds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		w.tree()
		token := w.made(w.basic("admin"), `{"name": "x", "bounds": {"projects": ["Scope:1010"]}}`)
		l := w.bearer(token.Token)
		a := w.who(l)
		w.exec("UPDATE scope_closure SET until_moment = 2 WHERE descendant_id = 1011 AND ancestor_id = 1010")
		w.s.RolesChanged(false)
		if now := w.who(l); len(now.Scopes) != 1 {
			t.Fatalf("the next request reads %v", now.Scopes)
		}
		if err := w.s.check(t.Context(), l, a, 0); fault.KindOf(err) != fault.Denied {
			t.Errorf("the running request goes on: %v", err)
		}
	})
}
