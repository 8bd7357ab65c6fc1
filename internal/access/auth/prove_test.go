package auth

import (
	"errors"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestOldPasswordsCannotBeGuessed checks that Prove is throttled like a login, so that a thief of
// a token cannot guess the password. Prove stays throttled after the member has sent the right
// password.
func TestOldPasswordsCannotBeGuessed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		w := newFixture(t, d)
		w.member(20, 64, 1)
		w.mustSet(20, "admin", "secret")
		w.member(1001, 64, 4)
		prove := func(member int64, password string, want bool) {
			t.Helper()
			if right, err := w.s.Prove(t.Context(), member, password); err != nil || right != want {
				t.Errorf("%q of %d: %v, %v", password, member, right, err)
			}
		}
		prove(20, "secret", true)
		prove(20, "Secret", false)
		prove(20, "", false)
		prove(20, strings.Repeat("x", maxPassword+1), false)
		prove(1001, "", false)
		prove(1002, "secret", false)
		for range pairBackoff.freeAttempts {
			prove(20, "secret", true)
		}
		before := w.clock.now()
		for range 100 {
			prove(20, "guess", false)
		}
		if took := w.clock.now().Sub(before); took < 90*pairBackoff.max {
			t.Errorf("100 guesses took %s", took)
		}
		prove(20, "secret", true)
		w.wantLogin("while somebody guesses", "admin", "secret", 20)
		for range 50 { // the attempts that a trusted pair would have without a delay
			if _, err := w.s.proofThrottle.attempt(w.s.keyed("member", "20"), w.s.keyed("member", "20")); err != nil {
				if _, slow := errors.AsType[*SlowDownError](err); !slow {
					t.Fatal(err)
				}
				return
			}
		}
		t.Error("50 guesses at once were allowed")
	})
}

func TestDigest(t *testing.T) {
	w := newFixture(t, testdb.SQLite(t))
	digest := func(text, salt string) string {
		t.Helper()
		hash, err := w.s.Digest(t.Context(), text, salt)
		if err != nil || len(hash) != 64 {
			t.Fatalf("%q, %v", hash, err)
		}
		return hash
	}
	one := digest("text", "salt")
	if digest("text", "salt") != one || digest("test", "salt") == one || digest("text", "other") == one {
		t.Error("a digest is of its text and salt")
	}
}
