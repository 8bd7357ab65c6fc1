package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// victim is a member who loses rights while its requests run.
type victim struct {
	oid, name string
	token     string // access token for the requests of the member; empty: the requests have the name and password
	tokenID   string
}

// loss is one way in which another process can take rights from a member. status is the HTTP status
// that a running request of the member gets because of the loss.
type loss struct {
	name   string
	do     func(p *pair, v victim)
	status int
}

var losses = []loss{
	{"inactivated", func(p *pair, v victim) { p.b.bulk(`{"from": "` + v.oid + `", "execute": "Inactivate"}`) }, http.StatusUnauthorized},
	{"deleted", func(p *pair, v victim) { p.b.bulk(`{"from": "` + v.oid + `", "execute": "Delete"}`) }, http.StatusUnauthorized},
	{"disabled", func(p *pair, v victim) { p.b.bulk(`{"from": "` + v.oid + `", "update": {"IsLoginDisabled": true}}`) }, http.StatusUnauthorized},
	{"password changed", func(p *pair, v victim) { p.b.bulk(`{"from": "` + v.oid + `", "update": {"Password": "another"}}`) }, http.StatusUnauthorized},
	{"token revoked", func(p *pair, v victim) {
		if _, err := p.logins.RevokeToken(p.t.Context(), v.tokenID); err != nil {
			p.t.Fatal(err)
		}
	}, http.StatusUnauthorized},
	{"role taken", func(p *pair, v victim) {
		p.b.bulk(`{"from": "Scope:0", "update": {"Members": {"remove": "` + v.oid + `"}}}`)
	}, http.StatusForbidden},
	{"role lowered", func(p *pair, v victim) {
		p.b.bulk(`{"from": "` + v.oid + `", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "Scope:0", "Role": "Role:8"}}}`)
	}, http.StatusForbidden},
}

// lossesFrom returns all losses. In short mode it returns every third loss, beginning at first.
// The tests have different values of first, so together they test every loss.
// TestALossOfRightsEndsARequest of package auth always tests all losses.
func lossesFrom(first int) (some []loss) {
	for i, l := range losses {
		if !testing.Short() || i%3 == first {
			some = append(some, l)
		}
	}
	return some
}

// pair is two processes on one database.
type pair struct {
	t      *testing.T
	a, b   *running // requests run in a; the rights are removed in b
	d      *db.DB
	logins *auth.Service // does what an operator does with commands, such as revoking a token
	url    string        // URL of the database
	redis  string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	url, redis := testdb.URL(t, "mysql"), testdb.Redis(t)
	settings := func() map[string]string {
		return map[string]string{
			"ALDS_ADDR": "127.0.0.1:0", "DATABASE_URL": url, "REDIS_URL": redis, "ALDS_SECRET_KEY": testKey,
			"ALDS_DB_CONNS": "12", // few, since several pairs run at the same time
		}
	}
	of := settings()
	if err := Migrate(t.Context(), Environment{Getenv: env(of), Stderr: io.Discard}, API); err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, url: url, redis: redis, a: start(t, of, API), b: start(t, settings(), API)}
	p.open(url)
	return p
}

// open opens the database for the test itself.
func (p *pair) open(url string) {
	p.t.Helper()
	var err error
	if p.d, err = db.Open(p.t.Context(), url, db.Options{MaxConns: 4}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = p.d.Close() })
	if p.logins, err = auth.New(p.d, meta.Default(), auth.Options{}); err != nil {
		p.t.Fatal(err)
	}
}

// member creates a member of the project.
func (p *pair) member(name string) victim {
	p.t.Helper()
	made := p.b.bulk(fmt.Sprintf(`[{"AssetType": "Member", "Name": %[1]q, "Nickname": %[1]q, "Username": %[1]q, "Password": "secret", "DefaultRole": "Role:4"}]`, name))
	v := victim{oid: momentless(made.AssetsCreated.OidTokens[0]), name: name}
	p.b.bulk(`{"from": "` + v.oid + `", "execute": {"op": "AssignToScopeWithRole", "args": {"Scope": "Scope:0", "Role": "Role:4"}}}`)
	if name != "token revoked" {
		return v
	}
	var err error
	if v.token, err = p.logins.CreateToken(p.t.Context(), name, auth.TokenOptions{Name: name}); err != nil {
		p.t.Fatal(err)
	}
	all, err := p.logins.Tokens(p.t.Context(), name)
	if err != nil {
		p.t.Fatal(err)
	}
	v.tokenID = all[0].ID
	return v
}

// send sends a request of a member to the first process.
func (p *pair) send(v victim, path, body string) (*http.Response, error) {
	req, err := http.NewRequest(http.MethodPost, p.a.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if req.SetBasicAuth(v.name, "secret"); v.token != "" {
		req.Header.Set("Authorization", "Bearer "+v.token)
	}
	return http.DefaultClient.Do(req)
}

// TestALossOfRightsEndsLongReads checks that the answer to a member ends early when another
// process removes rights of the member.
func TestALossOfRightsEndsLongReads(t *testing.T) {
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		p := newPair(t)
		p.checkReads(lossesFrom(0), p.url)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		r := start(t, map[string]string{"ALDS_DATA_DIR": dir, "ALDS_ADDR": "127.0.0.1:0"}, Standalone)
		p := &pair{t: t, a: r, b: r}
		p.open("sqlite:" + filepath.Join(dir, "alds.db"))
		p.checkReads(lossesFrom(1), "sqlite:"+filepath.Join(dir, "alds.db"))
	})
}

// checkReads checks each loss during a long read. It creates the members before the stories,
// because fill uses all ids after the first story.
func (p *pair) checkReads(some []loss, url string) {
	p.t.Helper()
	victims := make([]victim, len(some))
	for i, l := range some {
		victims[i] = p.member(l.name)
	}
	p.a.fill(url)
	for i, l := range some {
		p.checkRead(l, victims[i])
	}
}

func (p *pair) checkRead(l loss, v victim) {
	p.t.Helper()
	resp, err := p.send(v, "/query.v1", `{"from": "Story", "select": ["Name"]}`)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 1<<20)); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %d %v", l.name, resp.StatusCode, err)
	}
	l.do(p, v)
	eventually(p.t, l.name+": the read ends, though nobody reads on", p.a.isFree)
	if n, err := io.Copy(io.Discard, resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		p.t.Errorf("%s: after %d more bytes the answer ended with %v", l.name, n, err)
	}
	if by := p.a.brokenBy(); by != "rights" {
		p.t.Errorf("%s: the answer was broken by %q", l.name, by)
	}
}

// eventually repeats the call is() until it returns true. After a minute it fails the test.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it does not come to pass within a minute: %s", what)
		}
	}
}

// metric returns the value of a metric without labels.
func (r *running) metric(name string) string {
	r.t.Helper()
	resp, err := http.Get(r.admin + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// isFree reports whether the process uses no database connection.
func (r *running) isFree() bool {
	r.t.Helper()
	return r.metric("alds_app_db_connections_in_use") == "0"
}

// killed returns how many statements of the process were ended at the database server.
func (r *running) killed() string {
	r.t.Helper()
	return r.metric("alds_app_db_statements_killed_total")
}

// TestALossOfRightsEndsLongWrites checks a write that waits in its transaction while its member
// loses rights. The write must be refused and must store nothing.
func TestALossOfRightsEndsLongWrites(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	var stories []string
	for _, s := range p.b.bulk(`[{"AssetType": "Story", "Name": "free", "Scope": "Scope:0"}, {"AssetType": "Story", "Name": "locked", "Scope": "Scope:0"}]`).AssetsCreated.OidTokens {
		stories = append(stories, momentless(s))
	}
	for _, l := range lossesFrom(1) {
		p.checkWrite(l, stories)
	}
}

func (p *pair) checkWrite(l loss, stories []string) {
	p.t.Helper()
	v := p.member(l.name)
	unlock := p.lock(stories[1])
	defer unlock()
	type answer struct {
		status int
		body   string
	}
	answers := make(chan answer, 1)
	go func() {
		resp, err := p.send(v, "/api/asset", fmt.Sprintf(`[{"from": %q, "update": {"Name": %q}}, {"from": %q, "update": {"Name": %q}}]`, stories[0], v.name, stories[1], v.name))
		if err != nil {
			answers <- answer{0, err.Error()}
			return
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		answers <- answer{resp.StatusCode, string(b)}
	}()
	p.awaitLockWait(l.name)
	killed := p.a.killed()
	l.do(p, v)
	select {
	case got := <-answers:
		if got.status != l.status {
			p.t.Errorf("%s: %d %s", l.name, got.status, got.body)
		}
	case <-time.After(time.Minute):
		p.t.Fatalf("%s: the write goes on", l.name)
	}
	eventually(p.t, l.name+": the statement that waits is ended", func() bool { return p.a.killed() != killed })
	unlock()
	var rows [][]struct{ Name string }
	p.b.do("POST", "/query.v1", fmt.Sprintf(`[{"from": %q, "select": ["Name"]}, {"from": %q, "select": ["Name"]}]`, stories[0], stories[1]), &rows)
	if rows[0][0].Name != "free" || rows[1][0].Name != "locked" {
		p.t.Errorf("%s: stored %v", l.name, rows)
	}
}

// lock locks an asset in the database until unlock is called.
func (p *pair) lock(asset string) (unlock func()) {
	p.t.Helper()
	var id int64
	if _, err := fmt.Sscanf(asset, "Story:%d", &id); err != nil {
		p.t.Fatal(err)
	}
	locked, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- p.d.Write(context.Background(), func(tx *db.Tx) error {
			if err := tx.QueryRow(context.Background(), "SELECT id FROM asset WHERE id = ? FOR UPDATE", id).Scan(&id); err != nil {
				return err
			}
			close(locked)
			<-free
			return nil
		})
	}()
	select {
	case <-locked:
	case err := <-ended:
		p.t.Fatal(err)
	}
	done := false
	return func() {
		if !done {
			done = true
			close(free)
			if err := <-ended; err != nil {
				p.t.Error(err)
			}
		}
	}
}

// awaitLockWait waits until a transaction waits for a lock. A running statement is not enough,
// because the request may not have read the rights yet. The server updates its list of transactions
// only if nobody has read the list for 100 ms, so the pause between two reads is longer.
func (p *pair) awaitLockWait(what string) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(110 * time.Millisecond) {
		var waiting int
		err := p.d.QueryRow(p.t.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'").Scan(&waiting)
		if err != nil {
			p.t.Fatal(err)
		}
		if waiting > 0 {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s: the write does not wait", what)
		}
	}
}

// TestALossOfRightsEndsAcceptedRequests checks that a worker stops the accepted request of a member
// who loses rights. The stored answer must have the status of this loss.
func TestALossOfRightsEndsAcceptedRequests(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	story := momentless(p.b.bulk(`{"AssetType": "Story", "Name": "locked", "Scope": "Scope:0"}`).AssetsCreated.OidTokens[0])
	worker := start(t, map[string]string{"DATABASE_URL": p.url, "REDIS_URL": p.redis, "ALDS_SECRET_KEY": testKey, "ALDS_DB_CONNS": "12"}, Worker)
	for _, l := range losses {
		if l.name != "disabled" && l.name != "role taken" {
			continue
		}
		v := p.member(l.name)
		unlock := p.lock(story)
		_, body := p.a.ask("POST", "/api/asset", v.name, "secret", fmt.Sprintf(`{"from": %q, "update": {"Name": "x"}}`, story), "Prefer: respond-async")
		var accepted struct{ RequestID string }
		if err := json.Unmarshal([]byte(body), &accepted); err != nil || accepted.RequestID == "" {
			t.Fatalf("%s: %s", l.name, body)
		}
		p.awaitLockWait(l.name)
		killed := worker.killed()
		l.do(p, v)
		var status int
		eventually(t, l.name+": the request ends", func() bool {
			status, body = p.a.ask("GET", "/api/asset/"+accepted.RequestID, "admin", adminPassword, "")
			return !strings.Contains(body, `"processing":true`)
		})
		if status != l.status {
			t.Errorf("%s: %d %s", l.name, status, body)
		}
		eventually(t, l.name+": the statement that waits is ended", func() bool { return worker.killed() != killed })
		unlock()
	}
}
