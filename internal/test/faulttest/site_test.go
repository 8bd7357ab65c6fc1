package faulttest

import (
	"flag"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() { // most of the time the tests wait, so more of them can run at a time
		_ = flag.Set("test.parallel", "4")
	}
	testproc.Main(m)
}

const (
	adminPassword = "a password for faults"
	database      = "alds"
)

// site is an installation: a MariaDB, a Redis, and the processes that use them.
type site struct {
	t       *testing.T
	env     []string
	mariadb *testdb.Own
	redis   *testdb.Own
	mysql   string // value of DATABASE_URL
	name    string // name of the database
	clock   bool   // true: the processes use the clock that setClock changes
	base    string // http://host:port/instance
	logs    *testproc.Log
	db      *db.DB // connection of the test itself to the database
}

// newSite returns an empty installation with the current schema. Its MariaDB and Redis are new.
func newSite(t *testing.T, settings ...string) *site {
	t.Helper()
	own := testdb.OwnMySQL(t)
	s := newSiteOn(t, own.URL, database, settings...)
	s.mariadb = own
	return s
}

// newSiteOn is like newSite, but uses a database server that exists and that the test cannot restart.
func newSiteOn(t *testing.T, server, name string, settings ...string) *site {
	t.Helper()
	addr := testproc.FreeAddr(t)
	s := &site{t: t, redis: testdb.OwnRedis(t), base: "http://" + addr + "/alds", logs: &testproc.Log{}, name: name}
	s.mysql = server + "/" + name
	s.createDatabase(server)
	s.env = append(os.Environ(),
		"ALDS_ADDR="+addr, "DATABASE_URL="+s.mysql, "REDIS_URL="+s.redis.URL,
		"ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_LOG_LEVEL=warn", "ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s",
	)
	s.env = append(s.env, settings...)
	s.start("api", "migrate").Wait()
	var err error
	if s.db, err = db.Open(t.Context(), s.mysql, db.Options{MaxConns: 8}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

func (s *site) createDatabase(server string) {
	s.t.Helper()
	d, err := db.Open(s.t.Context(), server+"/information_schema", db.Options{MaxConns: 2})
	if err != nil {
		s.t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.Exec(s.t.Context(), "CREATE DATABASE "+s.name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		s.t.Fatal(err)
	}
}

// start starts a command. At the end of the test it stops the process if it still runs.
func (s *site) start(name string, args ...string) *testproc.Process {
	s.t.Helper()
	return testproc.Start(s.t, testproc.Options{Env: s.env, Log: s.logs}, name, args...)
}

// startAPI starts an api and waits until it answers.
func (s *site) startAPI() *testproc.Process {
	s.t.Helper()
	p := s.start("api")
	if !testproc.Becomes(s.t.Context(), s.base, 0) {
		s.t.Fatal("the api does not answer")
	}
	return p
}

// startBeside starts a process and waits until it is ready. If the database is down, the process first
// waits for the database.
func (s *site) startBeside(name string) *testproc.Process {
	s.t.Helper()
	admin := testproc.FreeAddr(s.t)
	p := s.startAt(admin, name)
	if !testproc.Becomes(s.t.Context(), "http://"+admin+"/readyz", http.StatusOK) {
		s.t.Fatalf("%s does not become ready", name)
	}
	return p
}

// startAt starts a command that serves its metrics and health at the address admin.
func (s *site) startAt(admin, name string) *testproc.Process {
	s.t.Helper()
	env := s.env
	s.env = slices.Concat(env, []string{"ALDS_ADMIN_ADDR=" + admin})
	defer func() { s.env = env }()
	return s.start(name)
}

// sound runs the command check, which reads the whole database. The test fails if the command finds a
// fault.
func (s *site) sound() {
	s.t.Helper()
	s.start("api", "check").Wait()
}

// patiently repeats try while try returns an error of the kind Transient, for example because a server has
// just restarted.
func (s *site) patiently(what string, try func() error) {
	s.t.Helper()
	for until := time.Now().Add(testproc.AnswersIn); ; time.Sleep(50 * time.Millisecond) {
		err := try()
		if err == nil {
			return
		}
		if fault.KindOf(err) != fault.Transient || time.Now().After(until) {
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

// count returns the number that an SQL query selects.
func (s *site) count(query string, args ...any) (n int) {
	s.t.Helper()
	s.patiently(query, func() error { return s.db.QueryRow(s.t.Context(), query, args...).Scan(&n) })
	return n
}

// each calls begin, and then scan for every row of an SQL query. If the query fails, each starts again with
// begin, so begin must discard the rows of earlier tries.
func (s *site) each(query string, begin func(), scan func(rows *db.Rows) error, args ...any) {
	s.t.Helper()
	s.patiently(query, func() error {
		begin()
		rows, err := s.db.Query(s.t.Context(), query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				return sqlerror.Fault(err)
			}
		}
		return sqlerror.Fault(rows.Err())
	})
}
