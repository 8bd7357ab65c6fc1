package faulttest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// later returns the release number that is n minor versions higher than that of this release.
func later(n int64) string { return release.Of(release.Rank(release.Number) + n*release.Rank("0.1.0")) }

// edit returns the content of a source file in which one string is replaced by another string. The
// parameter text is the string to replace, and by is the new string. The file must contain text exactly
// once.
func edit(t *testing.T, file, text, by string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../..", file))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(b), text) != 1 {
		t.Fatalf("%s does not have %q once", file, text)
	}
	return strings.Replace(string(b), text, by, 1)
}

// newRelease builds a later release and returns the folder of its commands. The release has one migration
// for each element of oldest. The migration adds a column to the table audit. The element is the number of
// the oldest release that works with the migration. The later release also has an attribute and a list
// value that this release does not have.
func newRelease(t *testing.T, number string, oldest ...string) (dir string) {
	t.Helper()
	named := "var oldest = map[int]string{"
	files := map[string]string{
		"internal/base/release/release.go": edit(t, "internal/base/release/release.go", `Number = "`+release.Number+`"`, `Number = "`+number+`"`),
		"internal/model/meta/model.yaml": strings.Replace(edit(t, "internal/model/meta/model.yaml", "      Benefits: LongText\n", "      Benefits: LongText\n      NextRelease: Text\n"),
			"  GoalCategory: {190: ", "  GoalCategory: {499: Next Release, 190: ", 1),
	}
	by := named + "\n"
	for i, works := range oldest {
		by += fmt.Sprintf("\t%d: %q,\n", 9001+i, works)
		for _, dialect := range []string{"mysql", "sqlite"} {
			files[fmt.Sprintf("sql/%s/%d_next.sql", dialect, 9001+i)] = fmt.Sprintf("ALTER TABLE audit ADD COLUMN next_%d INT NOT NULL DEFAULT 0;\n", i)
		}
	}
	files["sql/oldest.go"] = edit(t, "sql/oldest.go", named, by)
	return testproc.BuildWith(t, files, "api", "worker", "scheduler")
}

// rolled is an installation behind a load balancer. Its processes may be of two releases.
type rolled struct {
	*site
	balancer *balancer
	apis     [2]*rolledAPI
	beside   map[string]*testproc.Process // the worker and the scheduler
}

type rolledAPI struct {
	*testproc.Process
	*target
	admin string
}

// run starts a command of the release whose commands are in dir. If dir is empty, that is this release.
func (s *rolled) run(dir string, log io.Writer, env []string, name string, args ...string) *testproc.Process {
	s.t.Helper()
	return testproc.Start(s.t, testproc.Options{Dir: dir, Env: slices.Concat(s.env, env), Log: log}, name, args...)
}

// startAPI starts the api with the index n and waits until it is ready.
func (s *rolled) startAPI(n int, dir string) {
	s.t.Helper()
	addr, admin := testproc.FreeAddr(s.t), testproc.FreeAddr(s.t)
	p := s.run(dir, s.logs, []string{"ALDS_ADDR=" + addr, "ALDS_ADMIN_ADDR=" + admin}, "api")
	s.mustBe(admin, http.StatusOK, "api")
	s.apis[n] = &rolledAPI{p, s.balancer.add(s.t, addr, admin), admin}
	for !s.apis[n].ready.Load() {
		time.Sleep(time.Millisecond) // until the balancer has checked its readiness
	}
}

func (s *rolled) mustBe(admin string, status int, name string) {
	s.t.Helper()
	if !testproc.Becomes(s.t.Context(), "http://"+admin+"/readyz", status) {
		s.t.Fatalf("the readiness of the %s does not become %d", name, status)
	}
}

// replaceAPI stops the api with the index n by SIGTERM, and then starts an api of another release instead.
func (s *rolled) replaceAPI(n int, dir string) {
	s.t.Helper()
	s.apis[n].Stop()
	s.balancer.remove(s.apis[n].target)
	s.startAPI(n, dir)
}

// replaceBeside replaces the worker or the scheduler. If no such process runs yet, it starts one.
func (s *rolled) replaceBeside(name, dir string) {
	s.t.Helper()
	if p := s.beside[name]; p != nil {
		p.Stop()
	}
	admin := testproc.FreeAddr(s.t)
	s.beside[name] = s.run(dir, s.logs, []string{"ALDS_ADMIN_ADDR=" + admin}, name)
	s.mustBe(admin, http.StatusOK, name)
}

// rollAPIs replaces the apis by those of a release, one after another. dir is the folder of its commands.
func (s *rolled) rollAPIs(dir string, l *load) {
	s.t.Helper()
	for n := range s.apis {
		s.replaceAPI(n, dir)
		l.await(s.t, 100)
	}
}

// rollBeside replaces the worker and the scheduler by those of a release. dir is the folder of its
// commands.
func (s *rolled) rollBeside(dir string, l *load) {
	s.t.Helper()
	for _, name := range []string{"worker", "scheduler"} {
		s.replaceBeside(name, dir)
		l.await(s.t, 100)
	}
}

// said runs a command of api until it ends. It returns the exit status and the output.
func (s *rolled) said(dir string, args ...string) (status int, text string) {
	s.t.Helper()
	log := &testproc.Log{}
	p := s.run(dir, log, nil, "api", args...)
	status = p.Status()
	return status, p.Out.String() + log.String()
}

// migrate runs the migrations of a release. migrate --check must print want. The running apis must stay
// ready.
func (s *rolled) migrate(dir, want string) {
	s.t.Helper()
	for i, args := range [][]string{{"migrate", "--check"}, {"migrate"}} {
		status, text := s.said(dir, args...)
		if status != 0 || i == 0 && !strings.Contains(text, want) {
			s.t.Fatalf("%v: status %d, want %q in\n%s", args, status, want, text)
		}
	}
	for _, a := range s.apis {
		s.mustBe(a.admin, http.StatusOK, "api")
		if a.misses.Load() > 0 {
			s.t.Error("an api was not ready meanwhile")
		}
	}
}

func newRolled(t *testing.T) *rolled {
	t.Helper()
	s := &rolled{
		site:     &site{t: t, mysql: testdb.EmptyURL(t, "mysql"), logs: &testproc.Log{}},
		balancer: newBalancer(t), beside: map[string]*testproc.Process{},
	}
	s.base = s.balancer.url + "/alds"
	s.env = append(os.Environ(), "DATABASE_URL="+s.mysql, "REDIS_URL="+testdb.Redis(t), "ALDS_PUBLIC_URL="+s.balancer.url,
		"ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_SECRET_KEY="+strings.Repeat("A", 43)+"=",
		"ALDS_LOG_LEVEL=warn", "ALDS_SHUTDOWN_DELAY=200ms", "ALDS_WEBHOOK_ALLOW_PRIVATE=1", "ALDS_WEBHOOK_RETRY_SCHEDULE=1s,2s,4s,8s")
	if status, text := s.said("", "migrate"); status != 0 {
		t.Fatal(text)
	}
	for n := range s.apis {
		s.startAPI(n, "")
	}
	s.replaceBeside("worker", "")
	s.replaceBeside("scheduler", "")
	var err error
	if s.db, err = db.Open(t.Context(), s.mysql, db.Options{MaxConns: 4}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	return s
}

// load has the requests that clients send during the test. They create, change and read stories.
type load struct {
	mu      sync.Mutex
	sent    int
	failed  []string
	created map[string]bool // Oids of the stories in answers
}

func (s *rolled) load(ctx context.Context, project string) (l *load, wait func()) {
	l = &load{created: map[string]bool{}}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			own := ""
			for i := 0; ctx.Err() == nil; i++ {
				var made bulk
				if own == "" || i%4 == 0 {
					l.note(s.post(s.t.Context(), "/api/asset", story(project, fmt.Sprint(i)), &made), &made)
					own = made.first()
					continue
				}
				l.note(s.post(s.t.Context(), "/api/asset", map[string]any{"from": own, "update": map[string]any{"Name": fmt.Sprint("name ", i)}}, &made), &made)
			}
		})
	}
	for range 2 {
		all.Go(func() {
			question := map[string]any{"from": "Story", "where": map[string]any{"Scope": project}, "select": []string{"Name"}, "page": map[string]any{"size": 20, "start": 0}}
			for ctx.Err() == nil {
				l.note(s.post(s.t.Context(), "/query.v1", question, &[]any{}), &bulk{})
			}
		})
	}
	return l, all.Wait
}

// first returns the Oid of the first created asset, without its moment.
func (b *bulk) first() string {
	if len(b.AssetsCreated.OIDTokens) == 0 {
		return ""
	}
	parts := strings.SplitN(b.AssetsCreated.OIDTokens[0], ":", 3)
	return parts[0] + ":" + parts[1]
}

func (l *load) note(err error, made *bulk) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	switch {
	case err != nil:
		l.failed = append(l.failed, err.Error())
	case made.CommandFailures.Count > 0:
		l.failed = append(l.failed, "a command failed")
	case made.first() != "":
		l.created[made.first()] = true
	}
}

// await waits until n more requests have been answered.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	to := l.sent + n
	l.mu.Unlock()
	for until := time.Now().Add(testproc.AnswersIn); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		there := l.sent >= to
		l.mu.Unlock()
		if there {
			return
		}
		if time.Now().After(until) {
			t.Fatal("the load does not go on")
		}
	}
}

// TestUpgradeAndRollback upgrades an installation to the next release and back while clients send requests.
// No request may fail, every story that was answered must exist, and every change must be delivered. Then
// it installs a release that does not work with this release.
func TestUpgradeAndRollback(t *testing.T) {
	if testing.Short() {
		t.Skip("long tier only: builds two other releases, and rolls an installation to one of them and back under load")
	}
	next, breaking := newRelease(t, later(1), release.Number), newRelease(t, later(2), release.Number, later(2))
	s := newRolled(t)
	project := s.project("upgrade")
	book := newBook(t)
	s.subscribe(book.url, 10, map[string]any{"type": "AssetCreated", "from": "Story"}, map[string]any{"type": "AssetChanged", "from": "Story"})
	began := time.Now()
	ctx, end := context.WithCancel(t.Context())
	l, wait := s.load(ctx, project)
	defer func() { end(); wait() }()
	l.await(t, 100)

	s.migrate(next, "afterwards "+release.Number+" and later work with the database\nprocesses that run now: 4; all go on")
	l.await(t, 200)
	s.replaceAPI(0, "") // an api of this release starts on the schema of the next release
	s.rollBeside(next, l)
	s.rollAPIs(next, l)
	kept := s.keepsWhatItDoesNotKnow(project)

	s.migrate("", "the database was migrated by "+later(1)+"\nit is of a newer release, which works with this one")
	s.rollAPIs("", l)
	s.rollBeside("", l)
	kept()
	end()
	wait()
	t.Logf("%d requests in %s, %d not answered well; %d stories", l.sent, time.Since(began).Round(time.Millisecond), len(l.failed), len(l.created))
	if len(l.failed) > 0 {
		t.Errorf("%d requests failed, such as: %s", len(l.failed), l.failed[0])
	}
	s.nothingIsLost(l, book, next)
	s.refusesWhatBreaks(breaking)
}

// keepsWhatItDoesNotKnow creates a story with a value of an attribute that only the next release has. The
// returned function changes another attribute of the story with this release. Afterwards both values must
// exist, and also the attribute and the list value of the next release.
func (s *rolled) keepsWhatItDoesNotKnow(project string) func() {
	s.t.Helper()
	var made bulk
	command := story(project, "of the next release")
	command["NextRelease"] = "kept"
	s.mustPost("/api/asset", command, &made)
	return func() {
		s.t.Helper()
		s.mustPost("/api/asset", map[string]any{"from": made.first(), "update": map[string]any{"Name": "changed by this release"}}, &bulk{})
		for what, query := range map[string]string{
			"the attribute's value": "SELECT COUNT(*) FROM asset WHERE name = 'changed by this release' AND attrs LIKE '%\"NextRelease\"%kept%'",
			"that of its version":   "SELECT COUNT(*) FROM asset_version WHERE name = 'changed by this release' AND attrs LIKE '%\"NextRelease\"%kept%'",
			"the attribute's row":   "SELECT COUNT(*) FROM asset WHERE id < 0 AND name = 'NextRelease' AND state < 255",
			"the list's value":      "SELECT COUNT(*) FROM asset WHERE name = 'Next Release' AND state < 255",
		} {
			if s.count(query) != 1 {
				s.t.Errorf("%s is not kept", what)
			}
		}
	}
}

// nothingIsLost compares answers and deliveries with the database. Then it runs the command check of the
// newest release, because only this release has all attributes.
func (s *rolled) nothingIsLost(l *load, b *book, newest string) {
	s.t.Helper()
	wanted := s.versions(false)
	for made := range l.created {
		if wanted[made] == nil {
			s.t.Errorf("%s was answered and is not there", made)
		}
	}
	n := 0
	for _, moments := range wanted {
		n += len(moments)
	}
	b.await(n, quietIn)
	if missing, surplus, again := b.compare(wanted); missing+surplus > 0 {
		s.t.Errorf("of %d events %d did not come and %d tell of what was not; %d came again", n, missing, surplus, again)
	}
	if status, text := s.said(newest, "check"); status != 0 {
		s.t.Errorf("api check: status %d\n%s", status, text)
	}
}

// refusesWhatBreaks migrates to a release that does not work with this release. migrate --check must report
// that before the migration. Afterwards, running processes of this release must stop being ready, and new
// processes must not start.
func (s *rolled) refusesWhatBreaks(breaking string) {
	s.t.Helper()
	refusal := "the oldest release that works with it is " + later(2) + " (schema migration 9002_next); this is " + release.Number
	if status, text := s.said(breaking, "migrate", "--check"); status != 3 || strings.Count(text, "running, does not work with it") != 4 || !strings.Contains(text, "9002_next, works with "+later(2)+" and later") {
		s.t.Errorf("migrate --check: status %d\n%s", status, text)
	}
	if status, text := s.said(breaking, "migrate"); status != 0 {
		s.t.Fatalf("migrate: status %d\n%s", status, text)
	}
	s.mustBe(s.apis[0].admin, http.StatusServiceUnavailable, "api")
	for _, args := range [][]string{nil, {"migrate"}, {"migrate", "--check"}} {
		if status, text := s.said("", args...); status != 1 || !strings.Contains(text, refusal) {
			s.t.Errorf("api %v: status %d\n%s", args, status, text)
		}
	}
}
