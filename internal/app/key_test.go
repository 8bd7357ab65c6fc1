package app

import (
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/secret"
	"github.com/alds-dev/alds/internal/testdb"
)

const otherKey = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="

// keySite is a database whose schema is current, and its settings.
type keySite struct {
	t        *testing.T
	settings map[string]string
	d        *db.DB
}

func newKeySite(t *testing.T, dialect string) *keySite {
	t.Helper()
	s := &keySite{t: t, settings: map[string]string{
		"DATABASE_URL": testdb.URL(t, dialect), "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADDR": freeAddr(t),
	}}
	var err error
	if s.d, err = db.Open(t.Context(), s.settings["DATABASE_URL"], db.Options{MaxConns: 2}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.d.Close() })
	return s
}

func (s *keySite) getenv(name string) string { return s.settings[name] }

// refused starts every role, and migrates, with a key that must be refused.
func (s *keySite) refused(key string) {
	s.t.Helper()
	s.settings["ALDS_SECRET_KEY"] = key
	for _, role := range []Role{API, Worker, Scheduler} {
		s.refusal(role.name, Run(s.t.Context(), s.getenv, io.Discard, role))
	}
	s.refusal("migrate", Migrate(s.t.Context(), s.getenv, io.Discard, API))
}

func (s *keySite) refusal(what string, err error) {
	s.t.Helper()
	if err == nil || !strings.Contains(err.Error(), "ALDS_SECRET_KEY is not the key") || !strings.Contains(err.Error(), "docs/operations.md") {
		s.t.Errorf("%s with another key: %v", what, err)
	}
}

func (s *keySite) exec(query string, args ...any) {
	s.t.Helper()
	if _, err := s.d.Exec(s.t.Context(), query, args...); err != nil {
		s.t.Fatal(err)
	}
}

// seal stores a subscription whose header is sealed with a key.
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
	if err := Migrate(s.t.Context(), s.getenv, io.Discard, API); err != nil {
		s.t.Fatal(err)
	}
}

func TestAnotherKeyIsNoticedAtTheStart(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			s := newKeySite(t, dialect)
			s.migrate(testKey)
			s.refused(otherKey)
			s.migrate(testKey)
			start(t, s.settings, Scheduler) // which opens no secret, and is refused all the same
		})
	}
}

func TestADatabaseThatKnowsNoKeyYet(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			s := newKeySite(t, dialect)
			s.seal(fmt.Sprintf("%036d", 1), testKey)
			s.refused(otherKey)
			if n := s.knows(); n != 0 {
				t.Fatalf("%d check values after a start with a key that opens nothing", n)
			}
			s.seal(fmt.Sprintf("%036d", 2), otherKey) // while a wrong key was set, before this was noticed
			start(t, s.withKey(testKey), Scheduler)
			if n := s.knows(); n != 1 {
				t.Errorf("%d check values after a start with the key", n)
			}
			s.refused(otherKey)
			// What an operator does who has lost the key, by docs/operations.md.
			s.exec("UPDATE webhook_subscription SET authorization = NULL, secret = NULL, previous_secret = NULL, previous_until = 0")
			s.exec("DELETE FROM secret_check")
			s.migrate(otherKey)
			s.refused(testKey)
		})
	}
}

// withKey is the settings with a key.
func (s *keySite) withKey(key string) map[string]string {
	s.settings["ALDS_SECRET_KEY"] = key
	return s.settings
}

func TestStandaloneRefusesAnotherKeyFile(t *testing.T) {
	dir := t.TempDir()
	settings := map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": freeAddr(t)}
	if err := start(t, settings, Standalone).stop(); err != nil {
		t.Fatal(err)
	}
	if err := start(t, settings, Standalone).stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "secret.key")); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), func(k string) string { return settings[k] }, io.Discard, Standalone)
	if err == nil || !strings.Contains(err.Error(), "the key in "+filepath.Join(dir, "secret.key")+" is not the key") {
		t.Errorf("with another key file: %v", err)
	}
}
