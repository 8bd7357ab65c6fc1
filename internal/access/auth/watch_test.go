package auth

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// watched is a running request.
type watched struct {
	name string
	lose []string   // SQL statements that change the rights of the member
	want fault.Kind // why the request ends; fault.Internal: it does not end
	ctx  context.Context
}

// grants assigns a role in project 1001 to a member. Project 1002 is below it.
func (w *fixture) grants(member, role int64) {
	w.Helper()
	w.exec("INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) VALUES (1001, ?, ?, 0, 1, ?)", member, w.role(role), db.Forever)
}

// TestALossOfRightsEndsARequest checks that a running request ends if its member loses the login
// or rights. New rights and other changes do not end it.
func TestALossOfRightsEndsARequest(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixtureAt(t, d, time.Now)
		w.s.cost = cheap
		for _, scope := range []struct{ above, below, depth int64 }{{1001, 1001, 0}, {1002, 1002, 0}, {1001, 1002, 1}} {
			w.exec("INSERT INTO scope_closure (ancestor_id, descendant_id, depth, since_moment, until_moment) VALUES (?, ?, ?, 1, ?)", scope.above, scope.below, scope.depth, db.Forever)
		}
		all := []*watched{
			{name: "an inactive member", want: fault.Unproven, lose: []string{"UPDATE asset SET state = 128 WHERE id = %d"}},
			{name: "a deleted member", want: fault.Unproven, lose: []string{"UPDATE asset SET state = 255 WHERE id = %d"}},
			{name: "a disabled login", want: fault.Unproven, lose: []string{"UPDATE asset SET attrs = '{\"" + w.s.roles.disabledKey + "\": true}' WHERE id = %d"}},
			{name: "another password", want: fault.Unproven, lose: []string{"UPDATE credential SET version = version + 1 WHERE member_id = %d"}},
			{name: "no login", want: fault.Unproven, lose: []string{"DELETE FROM credential WHERE member_id = %d"}},
			{name: "a revoked token", want: fault.Unproven, lose: []string{"UPDATE access_token SET revoked_at = 1 WHERE member_id = %d"}},
			{name: "an expired token", want: fault.Unproven, lose: []string{"UPDATE access_token SET expires_at = 1 WHERE member_id = %d"}},
			{name: "no role", want: fault.Denied, lose: []string{"UPDATE scope_member SET until_moment = 2 WHERE member_id = %d"}},
			{name: "a role that reads nothing", want: fault.Denied, lose: []string{fmt.Sprintf("UPDATE scope_member SET role_id = %d WHERE member_id = %%d", w.role(int64(meta.NoAccess)))}},
			{name: "a lower role", want: fault.Denied, lose: []string{fmt.Sprintf("UPDATE scope_member SET role_id = %d WHERE member_id = %%d", w.role(8))}},
			{name: "a lower role in a project below", want: fault.Denied, lose: []string{"INSERT INTO scope_member (scope_id, member_id, role_id, is_owner, since_moment, until_moment) " + fmt.Sprintf("VALUES (1002, %%d, %d, 0, 1, %d)", w.role(8), db.Forever)}},
			{name: "administrator no more", want: fault.Denied, lose: []string{"UPDATE asset_link SET until_moment = 2 WHERE from_id = %d"}},
			{name: "an accepted request", want: fault.Unproven, lose: []string{"UPDATE credential SET disabled = 1 WHERE member_id = %d"}},
			{name: "a gain", lose: []string{fmt.Sprintf("UPDATE asset_link SET to_id = %d WHERE from_id = %%d", w.role(int64(meta.SystemAdmin)))}},
			{name: "a higher role", lose: []string{fmt.Sprintf("UPDATE scope_member SET role_id = %d WHERE member_id = %%d", w.role(3))}},
			{name: "nothing", lose: []string{"UPDATE asset SET changed_at = 1 WHERE id = %d"}},
		}
		for i, x := range all {
			w.request(int64(2001+i), x)
		}
		for i, x := range all {
			for _, statement := range x.lose {
				w.exec(fmt.Sprintf(statement, 2001+i))
			}
		}
		for _, x := range all {
			if x.want != fault.Internal {
				w.wantLoss(x)
			}
		}
		for _, x := range all {
			if x.want == fault.Internal && x.ctx.Err() != nil {
				t.Errorf("%s ended the request: %v", x.name, context.Cause(x.ctx))
			}
		}
	})
}

// request creates a member and begins its request.
func (w *fixture) request(member int64, x *watched) {
	w.Helper()
	role, name := int64(4), fmt.Sprint("member", member)
	if x.name == "administrator no more" {
		role = int64(meta.SystemAdmin)
	}
	w.member(member, 64, role)
	w.grants(member, 4)
	w.mustSet(member, name, "secret")
	l, err := w.s.Basic(w.Context(), name, "secret", "192.0.2.1")
	switch x.name {
	case "a revoked token", "an expired token":
		l, err = w.s.Bearer(w.Context(), w.token(name, TokenOptions{Expires: time.Now().Add(time.Hour)}))
	case "an accepted request":
		l = Login{Member: member}
	}
	if err != nil {
		w.Fatal(err)
	}
	who, err := w.s.Proven(w.Context(), l)
	if err != nil {
		w.Fatal(err)
	}
	var stop func()
	x.ctx, stop = w.s.Watch(w.Context(), l, who)
	w.Cleanup(stop)
}

func (w *fixture) wantLoss(x *watched) {
	w.Helper()
	select {
	case <-x.ctx.Done():
	case <-time.After(time.Minute):
		w.Errorf("%s: the request runs on", x.name)
		return
	}
	if err := Lost(x.ctx); fault.KindOf(err) != x.want {
		w.Errorf("%s: ended by %v, want %v", x.name, context.Cause(x.ctx), x.want)
	}
}

// TestNothingIsCommittedAfterALoss checks that a long request is checked again before its commit.
func TestNothingIsCommittedAfterALoss(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(2001, 64, 4)
		write := func(why string, takes time.Duration, want fault.Kind) {
			t.Helper()
			who, err := w.s.ActorOf(t.Context(), 2001)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := w.s.Watch(t.Context(), Login{Member: 2001}, who)
			defer stop()
			written := time.Now().UnixMicro()
			err = d.Write(ctx, func(tx *db.Tx) error {
				w.clock.pass(takes)
				_, err := tx.Exec(ctx, "UPDATE asset SET changed_at = ? WHERE id = 2001", written)
				return err
			})
			var at int64
			if err := d.QueryRow(t.Context(), "SELECT changed_at FROM asset WHERE id = 2001").Scan(&at); err != nil {
				t.Fatal(err)
			}
			if fault.KindOf(err) != want || (at == written) != (err == nil) {
				t.Errorf("%s: %v, and the asset was changed at %d", why, err, at)
			}
		}
		w.mustSet(2001, "cara", "secret")
		write("with all rights", watchEvery, fault.Internal)
		w.exec("UPDATE asset SET state = 128 WHERE id = 2001")
		write("inactive, after a while", watchEvery, fault.Unproven)
		write("inactive, at once", watchEvery-1, fault.Internal)
	})
}

// TestALoginIsCheckedAgainAfterALongWait checks that Proven refuses an old login that is no longer
// valid. In practice, the body of a request may arrive a minute after the login.
func TestALoginIsCheckedAgainAfterALongWait(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "secret")
		l, err := w.s.Basic(t.Context(), "admin", "secret", "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		w.exec("UPDATE credential SET disabled = 1")
		if _, err := w.s.Proven(t.Context(), l); err != nil {
			t.Errorf("at once: %v", err)
		}
		w.clock.pass(watchEvery) // the cached credential is then too old
		if _, err := w.s.Proven(t.Context(), l); fault.KindOf(err) != fault.Unproven {
			t.Errorf("after a while: %v, want a refusal", err)
		}
	})
}

// BenchmarkWatch measures the cost of Watch for a request that ends before its first check.
func BenchmarkWatch(b *testing.B) {
	w := newFixtureAt(b, testdb.SQLite(b), time.Now)
	w.member(20, 64, 1)
	parent, cancel := context.WithTimeout(b.Context(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		_, stop := w.s.Watch(parent, Login{Member: 20, provenAt: time.Now()}, Actor{Member: 20})
		stop()
	}
}
