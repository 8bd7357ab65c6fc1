package torture

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var (
	lasts = flag.Duration("torture.for", 0, "how long each case makes its requests; 0: half a second with -short, else 2 s")
	on    = flag.String("torture.on", "galera-multi", "the database: galera-multi, galera-single, group-multi or group-single")
)

func TestMain(m *testing.M) { testproc.Main(m) }

// lasting returns for how long each case sends requests.
func lasting() time.Duration {
	if testing.Short() {
		return cmp.Or(*lasts, 500*time.Millisecond)
	}
	return cmp.Or(*lasts, 2*time.Second)
}

const (
	adminPassword = "a password for torture"
	apis          = 2
)

// TestTorture runs the cases one after another. A failed case may leave wrong data in the database, and in
// processes that have read the data. So the case after it gets a new database and new processes.
func TestTorture(t *testing.T) {
	t.Parallel() // in parallel with TestReadsElsewhere, which mostly waits
	in := newInstallation(t)
	var s *site
	for _, c := range []struct {
		name string
		run  func(s *site)
	}{
		{"two migrations", twoMigrations},
		{"opposing moves", opposingMoves},
		{"followers", followers},
		{"newest", newest},
		{"subscribe and list", subscribeAndList},
		{"one key", oneKey},
		{"one name", oneName},
		{"mixed load", mixedLoad},
		{"a node is killed", nodeIsKilled}, // last, because the nodes need a while to recover
	} {
		outer := t
		ok := t.Run(c.name, func(t *testing.T) {
			if s == nil {
				s = in.newSite(outer, t)
			}
			s.t, s.statuses, s.bad = t, map[int]int{}, nil
			began := time.Now()
			c.run(s)
			s.sound()
			s.judgeStatuses()
			t.Logf("in %s", time.Since(began).Round(time.Millisecond))
		})
		if !ok && s != nil {
			s.end()
			s = nil
		}
	}
}

// installation has what all cases share: the nodes of the database, a Redis, and the proxies.
type installation struct {
	cluster *testdb.Cluster
	redis   *testdb.Own
	proxies []*proxy // forward to the node that accepts writes; empty if all nodes do
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

// address returns the URL of the database server for the process with the index i, without the name of a
// database.
func (in *installation) address(i int) string {
	if len(in.proxies) > 0 {
		return "mysql://root@" + in.proxies[0].address
	}
	return in.cluster.Nodes[i%len(in.cluster.Nodes)].URL
}

// site is a database with its processes: an api on each of two nodes, and a worker and a scheduler on the
// third node.
type site struct {
	*installation
	outer    *testing.T // the processes run until this test ends
	t        *testing.T // the current case
	running  []*testproc.Process
	loads    int
	name     string // name of the database
	base     []string
	settings []string
	db       *db.DB // connection of the test, to a node that is not killed

	mu       sync.Mutex
	statuses map[int]int
	bad      []string // answers with an unexpected status
}

func (in *installation) newSite(outer, t *testing.T) *site {
	t.Helper()
	in.sites++
	s := &site{installation: in, outer: outer, t: t, name: fmt.Sprint("alds", in.sites)}
	in.cluster.CreateDatabase(s.name)
	s.settings = append(os.Environ(),
		fmt.Sprintf("REDIS_URL=%s/%d", in.redis.URL, in.sites), "ALDS_ADMIN_PASSWORD="+adminPassword,
		"ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=", "ALDS_LOG_LEVEL=warn",
		"ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s,8s,8s",
	)
	s.command("migrate")
	in.cluster.Settle()
	s.lookAt(0)
	s.startAll()
	return s
}

// lookAt makes the test read the database at a node, which must not be killed.
func (s *site) lookAt(node int) {
	s.t.Helper()
	d, err := db.Open(s.outer.Context(), s.cluster.Nodes[node].URL+"/"+s.name, db.Options{MaxConns: 4})
	if err != nil {
		s.t.Fatal(err)
	}
	s.db = d
	s.outer.Cleanup(func() { _ = d.Close() })
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

// start starts a process that uses a node. more has additional settings.
func (s *site) start(node int, more []string, name string) {
	s.t.Helper()
	s.running = append(s.running, testproc.Start(s.outer, testproc.Options{Env: s.env(node, more...)}, name))
}

// command runs a command of api with the first node, until it ends. The command must succeed.
func (s *site) command(args ...string) {
	s.t.Helper()
	testproc.Start(s.t, testproc.Options{Env: s.env(0)}, "api", args...).Wait()
}

func (s *site) env(node int, more ...string) []string {
	return slices.Concat(s.settings, []string{"DATABASE_URL=" + s.address(node) + "/" + s.name}, more)
}

// end kills all processes.
func (s *site) end() {
	for _, p := range s.running {
		p.Kill()
	}
}

// sound runs the command check, which reads the whole database. The test fails if the command finds a
// fault.
func (s *site) sound() {
	s.t.Helper()
	s.settle()
	s.command("check")
}

// settle waits until all changes are delivered and all nodes have all writes. A worker may still write
// afterwards.
func (s *site) settle() {
	s.t.Helper()
	s.until("all changes are fanned out and delivered", func() bool {
		return s.count("SELECT COUNT(*) FROM audit WHERE fan_state = 0")+s.count("SELECT COUNT(*) FROM webhook_delivery WHERE state = 0") == 0
	})
	s.cluster.Settle()
}

// quietIn is how long it may take until all changes are delivered.
const quietIn = 5 * time.Minute

func (s *site) until(what string, reached func() bool) {
	s.t.Helper()
	for end := time.Now().Add(quietIn); !reached(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("it does not come to pass within %s that %s", quietIn, what)
		}
	}
}

// count returns one number from the database.
func (s *site) count(query string, args ...any) int {
	s.t.Helper()
	return testdb.Count(s.t, s.db, query, args...)
}
