package faulttest

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// Numbers of connections of a process, as docs/capacity.md states them.
const (
	dbConns         = 20 // ALDS_DB_CONNS
	besideDBConns   = 7
	redisProcessors = 2
	redisMost       = 10*redisProcessors + 10 + 2
)

// TestConnectionsAtFullLoad sends more requests than can run at a time, and makes all of them wait for the
// database. No process may have more connections to MariaDB and Redis than docs/capacity.md states. The
// test reads the numbers from the servers. An api must use all its connections for requests.
func TestConnectionsAtFullLoad(t *testing.T) {
	together(t)
	testdb.Runs(t, "redis-cli", "--version")
	s := newSite(t, fmt.Sprintf("ALDS_DB_CONNS=%d", dbConns), fmt.Sprintf("GOMAXPROCS=%d", redisProcessors), "ALDS_MEMBER_REQUESTS=40")
	for _, role := range []string{"api", "worker", "scheduler"} {
		s.startAs(role)
	}
	members := []string{"admin"}
	for _, name := range []string{"ann", "ben", "cay"} {
		s.mustAsk("admin", "/api/asset", fmt.Sprintf(`{"AssetType": "Member", "Name": %q, "Nickname": %q, "Username": %q, "Password": %q, "DefaultRole": "Role:1"}`, name, name, name, adminPassword))
		members = append(members, name)
	}
	s.mustAsk("admin", "/api/asset", `{"AssetType": "Story", "Scope": "Scope:0", "Name": "wanted by all"}`)
	for _, m := range members { // this request logs the member in, which reads assets
		s.mustAsk(m, "/query.v1", `{"from": "Scope", "select": ["Name"]}`)
	}
	var load sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for n := range 80 {
		load.Go(func() {
			for ctx.Err() == nil {
				s.ask(ctx, members[n%len(members)], "/query.v1", fmt.Sprintf(`{"from": "Story", "where": {"Name": "%d"}, "select": ["Name"]}`, n))
			}
		})
		load.Go(func() {
			for ctx.Err() == nil {
				s.ask(ctx, members[n%len(members)], "/api/asset", fmt.Sprintf(`{"AssetType": "Story", "Scope": "Scope:0", "Name": "%d"}`, n))
			}
		})
	}
	most := s.watchConnections(dbConns * 9 / 10)
	stop()
	load.Wait()
	for role, n := range most.mariadb {
		if n > dbConns+besideDBConns {
			t.Errorf("%s has %d connections to MariaDB with ALDS_DB_CONNS=%d", role, n, dbConns)
		}
	}
	for role, n := range most.redis {
		if n > redisMost {
			t.Errorf("%s has %d connections to Redis with %d processors", role, n, redisProcessors)
		}
	}
	t.Logf("most connections: MariaDB %v, Redis %v", most.mariadb, most.redis)
}

// startAs starts a role with its own user in MariaDB and in Redis, so that the servers can count the
// connections of the process.
func (s *site) startAs(role string) {
	s.t.Helper()
	d := s.administer()
	defer d.Close()
	for _, text := range []string{"CREATE USER " + role + "@'%'", "GRANT ALL ON " + database + ".* TO " + role + "@'%'"} {
		if _, err := d.Exec(s.t.Context(), text); err != nil {
			s.t.Fatal(err)
		}
	}
	s.redisCLI("ACL", "SETUSER", role, "on", "nopass", "~*", "&*", "+@all")
	admin := testproc.FreeAddr(s.t)
	env := slices.Concat(s.env, []string{
		"DATABASE_URL=" + strings.Replace(s.mysql, "root@", role+"@", 1), "REDIS_URL=" + strings.Replace(s.redis.URL, "redis://", "redis://"+role+":any@", 1),
		"ALDS_ADMIN_ADDR=" + admin,
	})
	testproc.Start(s.t, testproc.Options{Env: env, Log: s.logs}, role)
	if !testproc.Becomes(s.t.Context(), "http://"+admin+"/readyz", http.StatusOK) {
		s.t.Fatalf("%s does not become ready", role)
	}
}

func (s *site) administer() *db.DB {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), s.mariadb.URL+"/information_schema", db.Options{MaxConns: 2})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *site) redisCLI(args ...string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), "redis-cli", append([]string{"-u", s.redis.URL}, args...)...).CombinedOutput() //nolint:gosec // arguments of the test
	if err != nil || strings.HasPrefix(string(out), "ERR") {
		s.t.Fatalf("redis-cli %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// lockAssets makes all reads and writes of assets wait until unlock is called.
func (s *site) lockAssets() (unlock func()) {
	s.t.Helper()
	d, held, end, ended := s.administer(), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.Write(context.Background(), func(tx *db.Tx) error {
			if _, err := tx.Exec(context.Background(), "LOCK TABLES "+database+".asset WRITE"); err != nil {
				return err
			}
			close(held)
			<-end
			_, err := tx.Exec(context.Background(), "UNLOCK TABLES")
			return err
		})
	}()
	select {
	case <-held:
	case err := <-ended:
		s.t.Fatalf("lock the assets: %v", err)
	}
	unlock = sync.OnceFunc(func() {
		close(end)
		if err := <-ended; err != nil {
			s.t.Errorf("unlock the assets: %v", err)
		}
		_ = d.Close()
	})
	s.t.Cleanup(unlock)
	return unlock
}

// connections has numbers of connections to the two servers. The key is the role.
type connections struct{ mariadb, redis map[string]int }

// watchConnections returns the highest numbers of connections of each role under load. It locks the assets
// until an api has as many connections to MariaDB as enough says, up to twelve times. One lock may not
// suffice. A login reads assets, too, so a request may wait in its login. That happens if the request
// starts more than half a second after the lock.
func (s *site) watchConnections(enough int) connections {
	s.t.Helper()
	most := connections{map[string]int{}, map[string]int{}}
	d := s.administer()
	defer d.Close()
	for range 12 {
		unlock := s.lockAssets()
		reached := s.countConnections(d, most, enough)
		unlock()
		if reached {
			return most
		}
		time.Sleep(time.Second) // until the requests run again
	}
	s.t.Fatalf("an api has %v connections, want %d at full load", most.mariadb, enough)
	return most
}

// countConnections raises most to the current numbers of connections, again and again. It ends one second
// after an api has enough connections to MariaDB. It returns false if that takes 20 s, because the lock of the
// assets ends after a minute.
func (s *site) countConnections(d *db.DB, most connections, enough int) (reached bool) {
	s.t.Helper()
	more := 20
	for until := time.Now().Add(20 * time.Second); more > 0; time.Sleep(50 * time.Millisecond) {
		for _, role := range []string{"api", "worker", "scheduler"} {
			var n int
			if err := d.QueryRow(s.t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE user = ?", role).Scan(&n); err != nil {
				s.t.Fatal(err)
			}
			most.mariadb[role] = max(most.mariadb[role], n)
			most.redis[role] = max(most.redis[role], strings.Count(s.redisCLI("CLIENT", "LIST"), "user="+role+" "))
		}
		if most.mariadb["api"] >= enough {
			more--
		} else if time.Now().After(until) {
			return false
		}
	}
	return true
}

// ask sends a request as a member and returns the status, or 0 if there is no answer.
func (s *site) ask(ctx context.Context, member, path, body string) (status int) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+path, strings.NewReader(body))
	if err != nil {
		return 0
	}
	req.SetBasicAuth(member, adminPassword)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

func (s *site) mustAsk(member, path, body string) {
	s.t.Helper()
	if status := s.ask(s.t.Context(), member, path, body); status != http.StatusOK {
		s.t.Fatalf("%s for %s is answered %d", path, member, status)
	}
}
