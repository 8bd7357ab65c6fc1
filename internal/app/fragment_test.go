package app

import (
	"bytes"
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// nasty is a password with all characters that end a part of an address.
const nasty = "1Kx7@Qv9w:Lm3p/Zt5r#Bn8y%Wd2k?Hj6s Pc4f%zzXe0q&Gu7v=Ra1b"

// withPassword returns an address with a user and the password nasty.
func withPassword(t *testing.T, address, user string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(user, nasty)
	return u.String()
}

// capture collects a log. It closes seen when the log contains text.
type capture struct {
	text string
	seen chan struct{}

	mu  sync.Mutex
	all bytes.Buffer
}

// Write stores a line.
func (c *capture) Write(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	had := strings.Contains(c.all.String(), c.text)
	c.all.Write(line)
	if !had && strings.Contains(c.all.String(), c.text) {
		close(c.seen)
	}
	return len(line), nil
}

// TestNoFragmentOfAPasswordIsLogged starts roles whose database or queue refuses them or does not
// exist. The log must contain no part of the password.
func TestNoFragmentOfAPasswordIsLogged(t *testing.T) {
	t.Parallel()
	ready := testdb.URL(t, "mysql")
	refused, missing := "127.0.0.1:1", "nobody.invalid"
	for _, c := range []struct {
		why         string
		database    string
		redis, user string
		role        Role
		until, ends string // until: the log text after which the test stops the role; ends: text of the role's error
	}{
		{"a database that refuses connections", "mysql://" + refused + "/x", "redis://" + refused, "", API, "the database does not answer", ""},
		{"a database whose host is not there", "mysql://" + missing + "/x", "redis://" + refused, "", Worker, "the database does not answer", ""},
		{"a database that refuses the password", ready, "redis://" + refused, "", API, "", "Access denied"},
		{"a database that refuses the password, with TLS if it has it", ready + "?tls=preferred", "redis://" + refused, "", API, "", "Access denied"},
		{"a Redis that refuses connections", "", "redis://" + refused, "", Scheduler, "Redis does not answer", ""},
		{"a Redis whose host is not there", "", "redis://" + missing, "default", Scheduler, "Redis does not answer", ""},
		{"a Redis that refuses the password", "", testdb.Redis(t), "nobody", Scheduler, "Redis does not answer", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{
				"DATABASE_URL": ready, "REDIS_URL": withPassword(t, c.redis, c.user), "ALDS_SECRET_KEY": testKey,
				"ALDS_ADDR": "127.0.0.1:0", "ALDS_LOG_LEVEL": "debug",
			}
			if c.database != "" {
				settings["DATABASE_URL"] = withPassword(t, c.database, "alds")
			}
			log := &capture{text: c.until, seen: make(chan struct{})}
			if c.until == "" {
				log.text = "no line has this"
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, Environment{Getenv: env(settings), Stderr: log}, c.role) }()
			select {
			case <-log.seen:
				stop()
			case err := <-ended:
				ended <- err
			}
			err := <-ended
			if c.ends == "" && err != nil || c.ends != "" && (err == nil || !strings.Contains(err.Error(), c.ends)) {
				t.Errorf("it ended with: %v", err)
			}
			text := log.all.String()
			if err != nil {
				text += err.Error()
			}
			if !strings.Contains(text, c.until) {
				t.Errorf("it does not say %q:\n%s", c.until, text)
			}
			showsNone(t, text)
		})
	}
}

// showsNone fails the test if a text contains four bytes of the password in a row, unescaped or
// escaped.
func showsNone(t *testing.T, text string) {
	t.Helper()
	for _, password := range []string{nasty, url.QueryEscape(nasty), url.PathEscape(nasty)} {
		for i := range len(password) - 3 {
			if part := password[i : i+4]; strings.Contains(text, part) {
				t.Fatalf("%q is in:\n%s", part, text)
			}
		}
	}
}
