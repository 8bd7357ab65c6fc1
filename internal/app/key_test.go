package app

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/access/secret"
	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/events/webhook"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

const otherKey = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="

// keySite has a database with a current schema, and the settings for it.
type keySite struct {
	t        *testing.T
	settings map[string]string
	d        *db.DB
}

func newKeySite(t *testing.T, dialect string) *keySite {
	t.Helper()
	s := &keySite{t: t, settings: map[string]string{
		"DATABASE_URL": testdb.URL(t, dialect), "REDIS_URL": embeddedRedis(t), "ALDS_SECRET_KEY": testKey, "ALDS_ADDR": "127.0.0.1:0",
	}}
	var err error
	if s.d, err = db.Open(t.Context(), s.settings["DATABASE_URL"], db.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.d.Close() })
	return s
}

// embeddedRedis returns the address of a Redis in this process. Without a Redis that answers, a
// role takes seconds to stop.
func embeddedRedis(t *testing.T) string {
	t.Helper()
	url, stop, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

func (s *keySite) getenv(name string) string { return env(s.settings)(name) }

// refused checks that every role and the command migrate refuse a key.
func (s *keySite) refused(key string) {
	s.t.Helper()
	s.settings["ALDS_SECRET_KEY"] = key
	for _, role := range []Role{API, Worker, Scheduler} {
		s.refusal(role.Name, Run(s.t.Context(), Environment{Getenv: s.getenv, Stderr: io.Discard}, role))
	}
	s.refusal("migrate", Migrate(s.t.Context(), Environment{Getenv: s.getenv, Stderr: io.Discard}, API))
}

func (s *keySite) refusal(what string, err error) {
	s.t.Helper()
	if err == nil || !strings.Contains(err.Error(), "ALDS_SECRET_KEY is not the key") || !strings.Contains(err.Error(), "docs/operations.md") {
		s.t.Errorf("%s with another key: %v", what, err)
	}
}

func (s *keySite) exec(query string, args ...any) {
	s.t.Helper()
	testdb.Exec(s.t, s.d, query, args...)
}

// seal stores a subscription whose authorization header is encrypted with a key.
func (s *keySite) seal(id, key string) {
	s.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		s.t.Fatal(err)
	}
	box, err := secret.New(raw)
	if err != nil {
		s.t.Fatal(err)
	}
	s.exec(`INSERT INTO webhook_subscription (id, webhook_id, url, authorization, enabled, event_types, created_at, updated_at,
		created_by, since_generation, generation) VALUES (?, 'x', 'http://x.test', ?, 0, '[]', 0, 0, 20, 0, 0)`, id, box.Seal([]byte("Bearer x")))
}

func (s *keySite) knows() (n int) {
	s.t.Helper()
	if err := s.d.QueryRow(s.t.Context(), "SELECT COUNT(*) FROM secret_check").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *keySite) migrate(key string) {
	s.t.Helper()
	s.settings["ALDS_SECRET_KEY"] = key
	if err := Migrate(s.t.Context(), Environment{Getenv: s.getenv, Stderr: io.Discard}, API); err != nil {
		s.t.Fatal(err)
	}
}

func TestAnotherKeyIsNoticedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := newKeySite(t, dialect)
			s.migrate(testKey)
			s.refused(otherKey)
			s.migrate(testKey)
			start(t, s.settings, Scheduler) // a scheduler reads no secrets, but its key is checked, too
		})
	}
}

func TestADatabaseThatKnowsNoKeyYet(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := newKeySite(t, dialect)
			s.seal(fmt.Sprintf("%036d", 1), testKey)
			s.refused(otherKey)
			if n := s.knows(); n != 0 {
				t.Fatalf("%d check values after a start with a key that opens nothing", n)
			}
			s.seal(fmt.Sprintf("%036d", 2), otherKey) // as if a wrong key had been used for some time
			start(t, s.withKey(testKey), Scheduler)
			if n := s.knows(); n != 1 {
				t.Errorf("%d check values after a start with the key", n)
			}
			s.refused(otherKey)
			// The steps of docs/operations.md for a lost key.
			s.exec("UPDATE webhook_subscription SET authorization = NULL, secret = NULL, previous_secret = NULL, previous_until = 0")
			s.exec("DELETE FROM secret_check")
			s.migrate(otherKey)
			s.refused(testKey)
		})
	}
}

// TestAMigrationWithoutTheKey checks that the first role that starts stores the check value of
// its key, even if several roles start at the same time.
func TestAMigrationWithoutTheKey(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := newKeySite(t, dialect)
			s.migrate("")
			if n := s.knows(); n != 0 {
				t.Fatalf("%d check values without a key", n)
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error)
			started := make(chan struct{}, 4)
			for i := range 4 {
				settings := maps.Clone(s.withKey([]string{testKey, otherKey}[i%2]))
				go func() {
					ended <- Run(ctx, Environment{Getenv: env(settings), Stderr: sees{`"msg":"started"`, started}}, Scheduler)
				}()
			}
			for range 2 { // the two roles whose key is not the stored key
				s.refusal("the other key", <-ended)
			}
			for range 2 {
				<-started
			}
			if n := s.knows(); n != 1 {
				t.Errorf("%d check values", n)
			}
			stop()
			for range 2 {
				if err := <-ended; err != nil {
					t.Errorf("the key that came first: %v", err)
				}
			}
			s.migrate("") // needs no key
		})
	}
}

// sees is a log that signals each line that contains a text.
type sees struct {
	text string
	seen chan<- struct{}
}

// Write checks one line.
func (s sees) Write(line []byte) (int, error) {
	if strings.Contains(string(line), s.text) {
		s.seen <- struct{}{}
	}
	return len(line), nil
}

// withKey sets the key and returns the settings.
func (s *keySite) withKey(key string) map[string]string {
	s.settings["ALDS_SECRET_KEY"] = key
	return s.settings
}

func TestStandaloneRefusesAnotherKeyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	settings := map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": "127.0.0.1:0"}
	if err := start(t, settings, Standalone).stop(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, settings, Standalone).stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "secret.key")); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), Environment{Getenv: func(k string) string { return settings[k] }, Stderr: io.Discard}, Standalone)
	if err == nil || !strings.Contains(err.Error(), "the key in "+filepath.Join(dir, "secret.key")+" is not the key") {
		t.Errorf("with another key file: %v", err)
	}
}

// TestRotateKey follows the steps of docs/operations.md. At each step, every process has all keys
// with which another process may encrypt.
func TestRotateKey(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := newKeySite(t, dialect)
			s.migrate(testKey)
			s.seal(fmt.Sprintf("%036d", 1), testKey)
			s.seal(fmt.Sprintf("%036d", 2), testKey)
			rotate := func(keys string, want int) error {
				t.Helper()
				i, err := Open(t.Context(), Environment{Getenv: env(s.withKey(keys)), Stderr: io.Discard}, API)
				if err != nil {
					t.Fatal(err)
				}
				defer i.Close()
				box, err := i.Key(t.Context())
				if err != nil {
					return err
				}
				n, err := webhook.RotateKey(t.Context(), i.DB, box)
				if n != want {
					t.Errorf("%d secrets were sealed anew, want %d", n, want)
				}
				return err
			}
			for _, keys := range []string{testKey + "," + otherKey, otherKey + ", " + testKey} {
				if err := start(t, s.withKey(keys), Scheduler).stop(); err != nil {
					t.Fatal(err)
				}
			}
			s.seal(fmt.Sprintf("%036d", 3), otherKey)
			// The first run encrypts two headers and the check value of the key.
			for _, want := range []int{3, 0} {
				if err := rotate(otherKey+","+testKey, want); err != nil {
					t.Fatal(err)
				}
			}
			s.refused(testKey)
			if err := start(t, s.withKey(otherKey), Scheduler).stop(); err != nil {
				t.Fatal(err)
			}
			s.seal(fmt.Sprintf("%036d", 4), strings.Repeat("C", 43)+"=")
			if err := rotate(testKey+","+otherKey, 3); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("subscription %036d", 4)) {
				t.Errorf("a secret that no key opens: %v", err)
			}
			s.refused(testKey) // the check value was not replaced, since a secret was not decrypted
		})
	}
}
