package deploytest

import (
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// started is a process that a deployment file starts.
type started struct {
	name     string            // name of the process in the file
	command  []string          // command line in the file, with the path of the program
	settings map[string]string // all settings in the file
	grace    time.Duration     // time between the signal to stop and the kill
}

// check fails the test if the file names an unknown program or setting, or if the time until the kill is
// shorter than a clean shutdown may take.
func (s started) check(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(path.Join(root, "cmd", path.Base(s.command[0]), "main.go")); err != nil {
		t.Errorf("%s runs %v, which is no command: %v", s.name, s.command, err)
	}
	isSetting := map[string]string{}
	for _, one := range config.Settings() {
		isSetting[one.Name] = one.Default
	}
	for name := range s.settings {
		if _, ok := isSetting[name]; !ok {
			t.Errorf("%s sets %s, which is no setting", s.name, name)
		}
	}
	if len(s.command) > 1 { // such a command ends by itself
		return
	}
	var needed time.Duration
	for _, name := range []string{"ALDS_SHUTDOWN_DELAY", "ALDS_SHUTDOWN_GRACE"} {
		value, ok := s.settings[name]
		if !ok {
			value = isSetting[name]
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			t.Errorf("%s: %s: %v", s.name, name, err)
		}
		needed += d
	}
	if s.grace <= needed {
		t.Errorf("%s is killed after %s, and may need %s to stop", s.name, s.grace, needed)
	}
	if _, isSet := s.settings["ALDS_SHUTDOWN_GRACE"]; !isSet {
		t.Errorf("%s does not say ALDS_SHUTDOWN_GRACE beside the time after which it is killed", s.name)
	}
}

// service returns the settings that an operator fills in, for a database and a Redis of the test.
func service(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"DATABASE_URL": testdb.URL(t, "mysql"), "ALDS_DATABASE_PASSWORD": "", "REDIS_URL": testdb.Redis(t),
		"ALDS_SECRET_KEY": strings.Repeat("A", 43) + "=", "ALDS_ADMIN_PASSWORD": password,
	}
}

// runAll runs the processes of a file in their order, with their commands and settings. filled has the
// values of settings that an operator fills in. The test chooses the addresses. Each process that does not
// end by itself must become ready, the service must work, and all processes must stop on SIGTERM.
func runAll(t *testing.T, all []started, filled map[string]string) {
	t.Helper()
	log := &testproc.Log{}
	addr := testproc.FreeAddr(t)
	var running []*testproc.Process
	var roles []string
	for _, s := range all {
		settings := map[string]string{"ALDS_ADDR": addr, "ALDS_ADMIN_ADDR": testproc.FreeAddr(t)}
		if testing.Short() { // without a proxy, nothing has to notice the shutdown first
			settings["ALDS_SHUTDOWN_DELAY"] = "100ms"
		}
		env := append(os.Environ(), "ALDS_DB_CONNS=12") // many processes share the database server of the tests
		for name, value := range s.settings {
			if chosen, ok := filled[name]; ok {
				value = chosen
			}
			if _, ours := settings[name]; !ours {
				env = append(env, name+"="+value)
			}
		}
		for name, value := range settings {
			env = append(env, name+"="+value)
		}
		role := path.Base(s.command[0])
		p := testproc.Start(t, testproc.Options{Env: env, Log: log}, role, s.command[1:]...)
		if len(s.command) > 1 {
			p.Wait()
			continue
		}
		running, roles = append(running, p), append(roles, role)
		if !testproc.Becomes(t.Context(), "http://"+settings["ALDS_ADMIN_ADDR"]+"/readyz", http.StatusOK) {
			t.Fatalf("%s does not become ready", s.name)
		}
		testproc.Start(t, testproc.Options{Env: env, Log: log}, role, "health").Wait()
	}
	slices.Sort(roles)
	serves(t, "http://"+addr+"/alds", log, roles)
	var ending sync.WaitGroup
	for _, p := range running {
		ending.Go(p.Stop)
	}
	ending.Wait()
}

// serves checks that a service accepts a write and a read, and that processes of all roles run.
func serves(t *testing.T, base string, log *testproc.Log, roles []string) {
	t.Helper()
	if !testproc.Becomes(t.Context(), base+"/api/webhook", http.StatusUnauthorized) {
		t.Fatalf("%s does not answer:\n%s", base, log)
	}
	ask(t, http.MethodPost, base+"/api/asset", `{"AssetType": "Story", "Name": "Deployed", "Scope": "Scope:0"}`)
	if got := ask(t, http.MethodPost, base+"/query.v1", `{"from": "Story", "select": ["Name"]}`); !strings.Contains(got, "Deployed") {
		t.Errorf("the story is not read: %s", got)
	}
	for until := time.Now().Add(testproc.AnswersIn); ; <-time.After(100 * time.Millisecond) {
		got := rolesThatRun(t, base)
		if slices.Equal(got, roles) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%v run, want %v:\n%s", got, roles, log)
		}
	}
}
