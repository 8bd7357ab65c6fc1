package auth

import (
	"context"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// After a change of the password, a login that was verified with the old password cannot create
// a token or a session.
func TestNothingIsMadeWithAnOldPassword(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		l := w.basic("cara")
		session := w.made(l, `{"session": true}`)
		in := w.bearer(session.Token)
		w.mustSet(1001, "", "new")
		_, err := w.s.MakeToken(t.Context(), l, Actor{}, []byte(`{"session": true}`), false)
		w.wantKind("with the old password", err, fault.Unproven, "The password is not valid any more")
		_, err = w.s.MakeToken(t.Context(), in, Actor{}, []byte(`{"name": "x"}`), false)
		w.wantKind("with a session of it", err, fault.Unproven, "The access token is not valid any more")
		none := ""
		if err := d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 1001, &none, nil) }); err != nil {
			t.Fatal(err)
		}
		_, err = w.s.MakeToken(t.Context(), l, Actor{}, []byte(`{"session": true}`), false)
		w.wantKind("without a login", err, fault.Unproven, "The password is not valid any more")
	})
}

// Requests create sessions with the old password while the password changes. No such session
// stays valid.
func TestSessionsRaceWithAPassword(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		sealed, err := w.s.Seal(t.Context(), "new")
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			w.mustSet(1001, "", "x")
			l := w.basic("cara")
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					_, err := w.s.MakeToken(context.WithoutCancel(t.Context()), l, Actor{}, []byte(`{"session": true}`), false)
					if err != nil && fault.KindOf(err) != fault.Unproven {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				if err := d.Write(t.Context(), func(tx *db.Tx) error { return w.s.Set(t.Context(), tx, 1001, nil, &sealed) }); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			for _, r := range w.rows(1001) {
				if r.RevokedAt == nil {
					t.Fatal("a session of the old password goes on")
				}
			}
		}
	})
}

// A process that revokes a token refuses this token at once, although the token is in its cache.
// Other processes refuse the token within a second.
func TestEndedTokensAreRefusedAtOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := owners(t, d)
		one, two := w.made(w.basic("cara"), `{"session": true}`), w.made(w.basic("cara"), `{"session": true}`)
		in := w.bearer(one.Token)
		w.wantBearer("remembered", two.Token, 1001)
		if v, err := w.s.EndToken(t.Context(), in, w.who(in), "current"); err != nil || v.ID != one.ID {
			t.Errorf("%+v, %v", v, err)
		}
		w.wantBearer("revoked", one.Token, 0)
		if err := w.s.checkLogin(t.Context(), in, watchEvery); fault.KindOf(err) != fault.Unproven {
			t.Errorf("in a request that is running: %v", err)
		}
		w.wantBearer("the other", two.Token, 1001)
		other := newFixtureAt(t, d, w.clock.now) // another process
		other.wantBearer("remembered elsewhere", two.Token, 1001)
		w.mustSet(1001, "", "new")
		w.s.LoginsChanged() // as after the commit of a request
		w.wantBearer("after another password", two.Token, 0)
		w.clock.pass(maxAge)
		other.wantBearer("after another password, elsewhere", two.Token, 0)
	})
}
