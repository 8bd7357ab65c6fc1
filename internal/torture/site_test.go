package torture

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/testdb"
	"github.com/alds-dev/alds/internal/testproc"
)

var (
	lasts = flag.Duration("torture.for", 3*time.Second, "how long each case makes its requests")
	on    = flag.String("torture.on", "galera-multi", "the database: galera-multi, galera-single, group-multi or group-single")
)

func TestMain(m *testing.M) { testproc.Main(m) }

const (
	adminPassword = "a password for torture"
	apis          = 2
)

// TestTorture runs the cases one after the other, each in a database of its own on the
// same nodes.
func TestTorture(t *testing.T) {
	in := newInstallation(t)
	for _, c := range []struct {
		name string
		run  func(s *site)
	}{
		{"opposing moves", opposingMoves},
		{"followers", followers},
		{"subscribe and list", subscribeAndList},
		{"one key", oneKey},
		{"one name", oneName},
		{"mixed load", mixedLoad},
		{"a node is killed", nodeIsKilled}, // last: the nodes take a while until all is as before
	} {
		t.Run(c.name, func(t *testing.T) {
			s := in.newSite(t)
			c.run(s)
			s.sound()
			s.judgeStatuses()
		})
	}
}

// installation is what the cases share: the nodes, a Redis, and where processes find the
// database.
type installation struct {
	cluster *testdb.Cluster
	redis   *testdb.Own
	proxies []*proxy // of the node that is written to; empty where all nodes are
	sites   int
}

func newInstallation(t *testing.T) *installation {
	t.Helper()
	in := &installation{}
	kind, writers, _ := strings.Cut(*on, "-")
	switch {
	case writers != "multi" && writers != "single":
		t.Fatalf("-torture.on %s is unknown", *on)
	case kind == "galera":
		in.cluster = testdb.Galera(t)
	case kind == "group":
		in.cluster = testdb.Group(t, writers == "multi")
	default:
		t.Fatalf("-torture.on %s is unknown", *on)
	}
	in.redis = testdb.OwnRedis(t)
	if writers == "single" {
		in.proxies = []*proxy{newProxy(t, in.cluster)}
	}
	return in
}

// address is where process i finds the database.
func (in *installation) address(i int) string {
	if len(in.proxies) > 0 {
		return "mysql://root@" + in.proxies[0].address
	}
	return in.cluster.Nodes[i%len(in.cluster.Nodes)].URL
}

// site is a database of its own and the processes on it: an api on each of two nodes, a
// worker and a scheduler on the third.
type site struct {
	*installation
	t        *testing.T
	name     string // of the database
	base     []string
	settings []string
	logs     *testproc.Log
	db       *db.DB // for looking from outside, at a node that is not killed

	mu       sync.Mutex
	statuses map[int]int
	bad      []string // answers that should not be
}

func (in *installation) newSite(t *testing.T) *site {
	t.Helper()
	in.sites++
	s := &site{installation: in, t: t, name: fmt.Sprint("alds", in.sites), logs: &testproc.Log{}, statuses: map[int]int{}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the ends of the logs:\n%s", s.logs)
		}
	})
	in.cluster.CreateDatabase(s.name)
	s.settings = append(os.Environ(),
		fmt.Sprintf("REDIS_URL=%s/%d", in.redis.URL, in.sites), "ALDS_ADMIN_PASSWORD="+adminPassword,
		"ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_LOG_LEVEL=warn",
		"ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s,8s,8s",
	)
	s.command(0, "api", "migrate").Wait()
	in.cluster.Settle()
	s.lookAt(0)
	s.startAll()
	return s
}

// lookAt reads the database from now on at a node, which is not killed.
func (s *site) lookAt(node int) {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), s.cluster.Nodes[node].URL+"/"+s.name, db.Options{MaxConns: 4})
	if err != nil {
		s.t.Fatal(err)
	}
	s.db = d
	s.t.Cleanup(func() { _ = d.Close() })
}

func (s *site) startAll() {
	s.t.Helper()
	var ready []string
	for i := range apis {
		addr := testproc.FreeAddr(s.t)
		s.base = append(s.base, "http://"+addr+"/alds")
		s.start(i, []string{"ALDS_ADDR=" + addr}, "api")
	}
	for _, name := range []string{"worker", "scheduler"} {
		admin := testproc.FreeAddr(s.t)
		ready = append(ready, "http://"+admin+"/readyz")
		s.start(apis, []string{"ALDS_ADMIN_ADDR=" + admin}, name)
	}
	for _, url := range s.base {
		if !testproc.Becomes(s.t.Context(), url, 0) {
			s.t.Fatal("an api does not answer")
		}
	}
	for _, url := range ready {
		if !testproc.Becomes(s.t.Context(), url, http.StatusOK) {
			s.t.Fatal("the worker or the scheduler does not become ready")
		}
	}
}

// start starts a process on a node.
func (s *site) start(node int, more []string, name string, args ...string) *testproc.Process {
	s.t.Helper()
	env := slices.Concat(s.settings, []string{"DATABASE_URL=" + s.address(node) + "/" + s.name}, more)
	return testproc.Start(s.t, testproc.Options{Env: env, Log: s.logs}, name, args...)
}

func (s *site) command(node int, name string, args ...string) *testproc.Process {
	s.t.Helper()
	return s.start(node, nil, name, args...)
}

// sound runs api check, which reads the whole database and fails for every place where
// it disagrees with itself.
func (s *site) sound() {
	s.t.Helper()
	s.settle()
	s.command(0, "api", "check").Wait()
}

// settle waits until all nodes have what was written; a worker may go on writing.
func (s *site) settle() {
	s.t.Helper()
	s.until("all changes are fanned out and delivered", func() bool {
		return s.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0")+s.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0") == 0
	})
	s.cluster.Settle()
}

// quietIn is how long it may take until all is delivered.
const quietIn = 90 * time.Second

func (s *site) until(what string, reached func() bool) {
	s.t.Helper()
	for end := time.Now().Add(quietIn); !reached(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("it does not come to pass within %s that %s", quietIn, what)
		}
	}
}

// count asks the database for one number.
func (s *site) count(query string, args ...any) (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), query, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", query, err)
	}
	return n
}
