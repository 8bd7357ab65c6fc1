package faulttest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// filling is how many requests may be sent until the disk must be full.
const filling = 400

// TestAFullTablespace gives MariaDB a tablespace of limited size, so that a write fails in the middle of a
// request.
func TestAFullTablespace(t *testing.T) {
	together(t)
	s := newSite(t)
	s.bound("100M")
	if _, err := s.db.Exec(t.Context(), "DROP DATABASE "+database); err != nil {
		t.Fatal(err)
	}
	s.createDatabase(s.mariadb.URL) // now the tables are created in the limited tablespace
	s.start("api", "migrate").Wait()
	s.startAPI()
	s.startBeside("worker")
	s.fill(func() {
		s.bound("400M")
	})
}

// bound restarts MariaDB with a single tablespace of limited size.
func (s *site) bound(most string) {
	s.t.Helper()
	s.mariadb.Stop()
	s.mariadb.With("--innodb-file-per-table=0", "--innodb-data-file-path=ibdata1:12M:autoextend:max:"+most, "--innodb-autoextend-increment=1")
	s.mariadb.Start()
}

// TestAFullDisk stores the data of standalone on a file system of 12 MiB.
func TestAFullDisk(t *testing.T) {
	together(t)
	dir := t.TempDir()
	mount := func(options string) error {
		return exec.Command("mount", "-t", "tmpfs", "-o", options, "none", dir).Run() //nolint:gosec // a folder of the test
	}
	if err := mount("size=12m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() }) //nolint:gosec // a folder of the test
	addr := testproc.FreeAddr(t)
	s := &site{t: t, base: "http://" + addr + "/alds", logs: &testproc.Log{}}
	s.env = append(os.Environ(), "ALDS_ADDR="+addr, "ALDS_DATA_DIR="+dir, "ALDS_ADMIN_PASSWORD="+adminPassword, "ALDS_LOG_LEVEL=warn",
		"DATABASE_URL=sqlite:"+dir+"/alds.db", "TMPDIR="+dir)
	s.start("standalone")
	if !testproc.Becomes(t.Context(), s.base, 0) {
		t.Fatal("standalone does not answer")
	}
	var err error
	if s.db, err = db.Open(t.Context(), "sqlite:"+dir+"/alds.db", db.Options{MaxConns: 5}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.fill(func() {
		if err := mount("remount,size=200m"); err != nil {
			t.Fatal(err)
		}
	})
}

// fill writes until there is no more room. The request that does not fit must be answered 503 and not
// stored. After giveRoom, the same requests are sent again, and each must be executed exactly once in all.
func (s *site) fill(giveRoom func()) {
	s.t.Helper()
	project, answered, refused := s.project("full"), 0, -1
	for n := range filling {
		status, header, body := s.large(project, n)
		if status == http.StatusOK {
			answered++
			continue
		}
		refused = n
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, "no room") {
			s.t.Fatalf("without room: %d, Retry-After %q, %s", status, header.Get("Retry-After"), body)
		}
		break
	}
	if refused < 1 {
		s.t.Fatalf("the disk was not full after %d requests", answered)
	}
	s.t.Logf("no room after %d requests", answered)
	s.holds(answered)
	for again := range 3 {
		switch status, _, body := s.large(project, refused); status {
		case http.StatusServiceUnavailable:
		case http.StatusOK: // the rollback before has freed some room
			answered, refused = answered+1, refused+1
		default:
			s.t.Errorf("without room, time %d: %d %s", again, status, body)
		}
	}
	s.holds(answered)
	giveRoom()
	for n := range refused + 5 {
		s.patiently("a request with room again", func() error {
			return s.postWith(s.t.Context(), "/api/asset", headers{"Idempotency-Key": fmt.Sprint("request ", n)}, large(project, n), &bulk{})
		})
	}
	s.holds(refused + 5)
	name := "api"
	if s.mariadb == nil {
		name = "standalone"
	}
	s.start(name, "check").Wait()
}

// inLarge is how many stories a large request creates. Each story has 50 KB.
const inLarge = 10

func large(project string, n int) []any {
	commands := make([]any, inLarge)
	for i := range commands {
		commands[i] = map[string]any{
			"AssetType": "Story", "Scope": project, "Name": fmt.Sprintf("full %d %d", n, i),
			"Description": strings.Repeat(fmt.Sprint(n, i, " "), 50_000/len(fmt.Sprint(n, i, " "))),
		}
	}
	return commands
}

func (s *site) large(project string, n int) (status int, header http.Header, body string) {
	s.t.Helper()
	status, header, text, err := s.do(s.t.Context(), "/api/asset", headers{"Idempotency-Key": fmt.Sprint("request ", n)}, large(project, n))
	if err != nil {
		s.t.Fatal(err)
	}
	return status, header, string(text)
}

// holds checks that the database has exactly the stories and the stored answers of the executed requests.
// requests is the number of these requests.
func (s *site) holds(requests int) {
	s.t.Helper()
	if n := s.count("SELECT COUNT(*) FROM asset WHERE name LIKE 'full % %'"); n != requests*inLarge {
		s.t.Errorf("%d stories are there, want those of %d requests: %d", n, requests, requests*inLarge)
	}
	if n := s.count("SELECT COUNT(*) FROM bulk_request"); n != requests {
		s.t.Errorf("%d answers are kept, want %d", n, requests)
	}
}
