package faulttest

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	counters "sync/atomic"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

var (
	stops     = flag.Int("stops", 0, "how often each role is stopped, and cut off; 0: 1 with -short, else 3")
	stopFor   = flag.Duration("stopped", 0, "how long each stop lasts at least; 0: until all events have come")
	stopRate  = flag.Int("stoprate", 40, "writes a second meanwhile")
	stopsOn   = flag.String("stopson", "", "what to run the stops on: the address of a server, mysql://user@host:port, or galera or group for one node of a cluster; empty: a MariaDB of the test")
	stopWays  = flag.String("stopways", "stopped,cut off", "the ways in which they are")
	stopRoles = flag.String("stoproles", "worker api scheduler", "the roles that are stopped")
)

// slowest is the longest time from a write to its event while a process is frozen. It is not compared with
// -short.
const slowest = 10 * time.Second

// frail is a process that the test freezes while other processes of the same role run. It has its own
// connections to the database and Redis, which the test can interrupt. It also has its own database user,
// by which the test finds its transactions.
type frail struct {
	*testproc.Process
	role, user      string
	base            string // base URL of an api
	database, redis *testdb.Line
}

// startFrail starts a frail process of a role, in addition to the other process of that role.
func (s *site) startFrail(role string) *frail {
	s.t.Helper()
	f := &frail{role: role, user: "frail_" + role}
	for _, query := range []string{"CREATE USER " + f.user + "@'%'", "GRANT ALL ON " + s.name + ".* TO " + f.user + "@'%'"} {
		if _, err := s.db.Exec(s.t.Context(), query); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Cleanup(func() { _, _ = s.db.Exec(context.WithoutCancel(s.t.Context()), "DROP USER "+f.user+"@'%'") })
	env := s.env
	defer func() { s.env = env }()
	var database, redis string
	database, f.database = s.through(s.mysql, f.user)
	redis, f.redis = s.through(s.redis.URL, "")
	if s.clock {
		f.database.Replace(clockOfServer, clockOfTest)
	}
	addr := testproc.FreeAddr(s.t)
	s.env = slices.Concat(env, []string{"DATABASE_URL=" + database, "REDIS_URL=" + redis, "ALDS_ADDR=" + addr})
	f.Process = s.startBeside(role)
	f.base = "http://" + addr + "/alds"
	return f
}

// through opens a Line to a server: a proxy that the test can interrupt. It returns address with the
// address of the Line instead of that of the server. If user is not empty, it also replaces the user.
func (s *site) through(address, user string) (string, *testdb.Line) {
	s.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		s.t.Fatal(err)
	}
	line := testdb.NewLine(s.t, u.Host)
	if u.Host = line.Addr; user != "" {
		u.User = url.User(user)
	}
	return u.String(), line
}

// freeze is a way to make a process unreachable. stop makes it unreachable, and end makes it reachable
// again.
type freeze struct {
	name      string
	stop, end func(*frail)
}

var freezes = []freeze{
	{"stopped", func(f *frail) { f.Freeze() }, func(f *frail) { f.Thaw() }},
	{
		"cut off",
		func(f *frail) { f.database.Freeze(); f.redis.Freeze() },
		func(f *frail) { f.database.Thaw(); f.redis.Thaw() },
	},
}

// holdsRows reports whether a frozen process has an open transaction that has written rows. It waits first,
// because the server updates this information only after nobody has read it for 100 ms.
func (s *site) holdsRows(f *frail) bool {
	s.t.Helper()
	time.Sleep(150 * time.Millisecond)
	return s.count(`SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
		WHERE p.user = ? AND p.command = 'Sleep' AND t.trx_rows_modified > 0`, f.user) > 0
}

// freezeHolding freezes a process at a moment when the process holds row locks, and returns true. If many
// tries do not find such a moment, it freezes the process anyway and returns false.
func (s *site) freezeHolding(f *frail, how freeze) bool {
	s.t.Helper()
	for range 60 {
		how.stop(f)
		if s.holdsRows(f) {
			return true
		}
		how.end(f)
		time.Sleep(rand.N(20 * time.Millisecond))
	}
	how.stop(f)
	return false
}

// TestAFrozenProcessStopsNobodyElse freezes a worker, an api and a scheduler while they hold row locks. Each
// is first stopped. Later it is cut off from database and Redis while its connections stay open. Other
// processes must deliver each event while the process is still frozen. The process must do no harm when it
// continues.
//
// Without -short the test also measures how long events take. This command stops each role ten times for
// 20 s, at 100 writes a second:
//
//	go test ./internal/test/faulttest -run AFrozenProcess -v -timeout 1h -stops 10 -stopped 20s -stoprate 100
func TestAFrozenProcessStopsNobodyElse(t *testing.T) {
	together(t)
	s := newSiteForStops(t)
	s.startAPI()
	frails := map[string]*frail{}
	for _, role := range []string{"worker", "scheduler"} {
		s.startBeside(role)
	}
	for _, role := range strings.Fields(*stopRoles) {
		frails[role] = s.startFrail(role)
	}
	project := s.project("frozen")
	books := s.subscribeAll(project)
	ended := make(chan struct{})
	var writing sync.WaitGroup
	var failed counters.Int64
	bases := []string{s.base}
	if f := frails["api"]; f != nil {
		bases = append(bases, f.base)
	}
	writing.Go(func() { s.writeAt(ended, *stopRate, project, bases, &failed) })
	for _, role := range strings.Fields(*stopRoles) {
		for _, how := range freezes {
			if strings.Contains(*stopWays, how.name) {
				s.freezeOften(frails[role], how, books)
			}
		}
	}
	last := time.Now()
	close(ended)
	writing.Wait()
	t.Logf("%d writes were not answered 200", failed.Load())
	s.awaitQuiet(books)
	s.allCame(books, last)
	for _, f := range frails {
		f.MustRun()
	}
	s.sound()
}

func newSiteForStops(t *testing.T) *site {
	t.Helper()
	server := *stopsOn
	var cluster *testdb.Cluster
	switch server {
	case "":
		return newSite(t)
	case "galera":
		cluster = testdb.Galera(t)
	case "group":
		cluster = testdb.Group(t, false)
	}
	if cluster != nil {
		server = cluster.Nodes[cluster.Writer()].URL
	}
	s := newSiteOn(t, server, fmt.Sprintf("alds_frozen_%d", os.Getpid()))
	t.Cleanup(func() { _, _ = s.db.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+s.name) })
	return s
}

// freezeOften freezes a process several times. While the process is frozen, freezeOften waits until the
// events of all earlier writes have arrived.
func (s *site) freezeOften(f *frail, how freeze, books []wish) {
	s.t.Helper()
	n := *stops
	if n == 0 {
		n = depth(1, 3)
	}
	var worst time.Duration
	var each []string
	held := 0
	for range n {
		if f.role == "scheduler" { // a scheduler rarely holds row locks
			how.stop(f)
		} else if s.freezeHolding(f, how) {
			held++
		}
		at := time.Now()
		time.Sleep(max(*stopFor, time.Second)) // so that some writes happen
		overdue := s.awaitWritten(books)
		how.end(f)
		if overdue > 0 {
			s.t.Errorf("%d events have not come within %s while a %s was %s", overdue, goneIn, f.role, how.name)
		}
		one, written := s.slowestEvent(books, at.Add(-time.Second))
		worst = max(worst, one)
		each = append(each, fmt.Sprintf("%s of %d", one.Round(time.Millisecond), written))
		time.Sleep(time.Duration(depth(0, 2)) * time.Second)
	}
	s.t.Logf("%s %s %d times, %d of them with rows held: slowest event %s; of the changes in each: %s",
		f.role, how.name, n, held, worst.Round(time.Millisecond), strings.Join(each, ", "))
	if f.role != "scheduler" && held == 0 {
		late(s.t, "the "+f.role+" was never frozen with rows held")
	}
	if worst > slowest && !testing.Short() {
		s.t.Errorf("the slowest event came after %s while a %s was %s, want at most %s", worst, f.role, how.name, slowest)
	}
}

// awaitWritten waits until the events of all writes so far have arrived, but at most for goneIn. It returns
// how many events are still missing.
func (s *site) awaitWritten(books []wish) (missing int) {
	s.t.Helper()
	var wanted []changes
	for _, b := range books {
		wanted = append(wanted, b.wanted())
	}
	for end := time.Now().Add(goneIn); ; time.Sleep(50 * time.Millisecond) {
		missing = 0
		for i, b := range books {
			m, _, _ := b.compare(wanted[i])
			missing += m
		}
		if missing == 0 || time.Now().After(end) {
			return missing
		}
	}
}

// slowestEvent looks at all writes from a time on, the parameter since. It returns the longest time from a
// write to its first event, and the number of writes. A write whose event has not arrived counts only in
// the number.
func (s *site) slowestEvent(books []wish, since time.Time) (worst time.Duration, n int) {
	s.t.Helper()
	type written struct {
		asset  string
		moment int64
		at     time.Time
	}
	var all []written
	s.each(`SELECT v.id, v.moment, a.at FROM asset_version v JOIN audit a ON a.id = v.audit_id
		WHERE v.number LIKE 'S-%' AND a.at >= ?`, func() { all = nil }, func(rows *db.Rows) error {
		var id, moment, at int64
		err := rows.Scan(&id, &moment, &at)
		all = append(all, written{fmt.Sprintf("Story:%d", id), moment, time.UnixMicro(at)})
		return err
	}, since.UnixMicro())
	for _, w := range all {
		for _, b := range books[:2] { // the third subscription matches only some of the changes
			if came := b.cameAt(w.asset, w.moment); !came.IsZero() {
				worst = max(worst, came.Sub(w.at))
			}
		}
	}
	return worst, len(all)
}

// writeAt creates and changes stories until ended is closed. It sends rate writes a second, to the apis in
// turn. failed counts writes that were not executed.
func (s *site) writeAt(ended chan struct{}, rate int, project string, bases []string, failed *counters.Int64) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	var mu sync.Mutex
	var own []string
	running := make(chan struct{}, 64)
	var all sync.WaitGroup
	defer all.Wait()
	for n := 0; ; n++ {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		select {
		case running <- struct{}{}:
		default:
			failed.Add(1) // 64 requests are waiting for a frozen api, and no more are allowed
			continue
		}
		mu.Lock()
		command := story(project, fmt.Sprintf("story %d", n))
		if len(own) > 50 {
			command = map[string]any{"from": own[rand.N(len(own))], "update": map[string]any{"Name": fmt.Sprintf("name %d", n)}}
			if n%3 == 0 {
				command["update"] = map[string]any{"Estimate": n}
			}
		}
		mu.Unlock()
		base := bases[n%len(bases)]
		all.Go(func() {
			defer func() { <-running }()
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			var b bulk
			if err := (&site{t: s.t, base: base}).post(ctx, "/api/asset", command, &b); err != nil {
				failed.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			own = append(own, b.AssetsCreated.OIDTokens...)
		})
	}
}
