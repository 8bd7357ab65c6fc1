//go:build unix

package doctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

// guidePrelude has shell functions that the tables of the guide use. SCHEMA is the database for SQL
// statements, ADMIN is the password of the administrator, and FROM is the source address of curl.
const guidePrelude = `
ADMIN=choose-another
curl() { command curl -k ${FROM:+--interface $FROM} "$@"; }
sql() { mariadb -h 127.0.0.1 -P $MARIADB_PORT -u root $SCHEMA; }
ask() {
	local body=()
	if [ $1 = POST ]; then body=(-H 'Content-Type: application/json' -d @-); fi
	curl -sf -X $1 -u admin:$ADMIN "http://$API/alds/$2" "${body[@]}"
}
promql() { promtool query instant http://$PROMETHEUS "$(cat)"; }
has() { local out; out=$("${@:2}" 2>/dev/null) || return 1; grep -qE "$1" <<<"$out"; }
stop() { kill $ROLES; wait $ROLES; }
started() {
	ROLES=$(jobs -p | tail -3)
	for a in $API_ADMIN $WORKER_ADMIN $SCHEDULER_ADMIN; do until_ok curl -sf http://$a/readyz; done
}
again() { stop; start_roles; started; }
value() { grep -oE "\"$1\": ?\"[^\"]*\"" | head -1 | sed -E 's/.*"([^"]*)"$/\1/'; }
`

// installation is the installation that the commands of the guide create, with its addresses and servers.
type installation struct {
	place

	api, apiAdmin, worker, scheduler, prometheus, proxy, plain string
	mariadb, redis                                             *testdb.Own
}

// newInstallation prepares servers, addresses and a clone of the repository. The commands of the guide
// create everything else.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{
		api: testproc.FreeAddr(t), apiAdmin: testproc.FreeAddr(t), worker: testproc.FreeAddr(t), scheduler: testproc.FreeAddr(t),
		prometheus: testproc.FreeAddr(t), proxy: testproc.FreeAddr(t), plain: testproc.FreeAddr(t),
		// Backups need --log-bin. docs/capacity.md requires this number of connections.
		mariadb: testdb.OwnMySQL(t, "--log-bin", "--max-connections=400"), redis: testdb.OwnRedis(t),
	}
	i.folder, i.prelude = clone(t), guidePrelude
	port := i.mariadb.URL[strings.LastIndex(i.mariadb.URL, ":")+1:]
	i.env = []string{
		"MARIADB_PORT=" + port, "API=" + i.api, "API_ADMIN=" + i.apiAdmin, "WORKER_ADMIN=" + i.worker, "SCHEDULER_ADMIN=" + i.scheduler,
		"PROMETHEUS=" + i.prometheus, "SITE=https://" + i.proxy, "SCHEMA=", "FROM=", "PORT=", "ALDS_LOG_LEVEL=warn", "PATH=" + os.Getenv("PATH") + ":/usr/sbin",
	}
	i.replace = []string{
		"127.0.0.1:3306", "127.0.0.1:" + port, "-P 3306", "-P " + port, "redis://127.0.0.1:6379", i.redis.URL,
		"127.0.0.1:8080", i.api, "127.0.0.1:9090", i.apiAdmin, "127.0.0.1:9091", i.worker, "127.0.0.1:9092", i.scheduler,
		"https://alds.example.org", "https://" + i.proxy, "http://alds.example.org:8080", "http://127.0.0.2:" + i.api[strings.LastIndex(i.api, ":")+1:],
		"http://alds.example.org", "http://" + i.plain,
		"6f1c2a54-…", "$TOKEN_ID",
	}
	i.file(t, "prometheus.yml", "global: {scrape_interval: 1s, evaluation_interval: 1s}\nscrape_configs:\n- job_name: alds\n"+
		"  static_configs: [{targets: ['"+strings.Join([]string{i.apiAdmin, i.worker, i.scheduler}, "','")+"']}]\n")
	i.nginx(t)
	return i
}

// file writes a file into the folder that contains the clone. Commands refer to the file as ../name.
func (i *installation) file(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(i.folder), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// nginx writes the configuration of docs/proxies.md with the addresses of the test.
func (i *installation) nginx(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/proxies/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	beside := filepath.Dir(i.folder)
	c := testdb.NewCertificate(t, "127.0.0.1")
	server := strings.NewReplacer("listen 443", "listen "+i.proxy, "listen 80", "listen "+i.plain, "10.0.0.11:8080", i.api,
		"server 10.0.0.12:8080", "# server 10.0.0.12:8080", "/etc/ssl/alds/cert.pem", c.Cert, "/etc/ssl/alds/key.pem", c.Key).Replace(string(text))
	i.file(t, "nginx.conf", "daemon off; worker_processes 1; pid "+beside+"/nginx.pid; error_log stderr; events {}\nhttp { access_log off;"+
		" client_body_temp_path "+beside+"; proxy_temp_path "+beside+"; fastcgi_temp_path "+beside+"; uwsgi_temp_path "+beside+"; scgi_temp_path "+beside+";\n"+server+"}\n")
}

// clone creates a new repository with the files that git tracks or would add. It has no build results.
func clone(t *testing.T) (folder string) {
	t.Helper()
	testdb.Runs(t, "git", "-C", root, "rev-parse")
	folder = filepath.Join(t.TempDir(), "alds")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c",
		`git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --ignore-failed-read -c | tar -x -C "$0" && git init -q "$0" && git -C "$0" add -A`, folder) //nolint:gosec // a folder of the test
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copy the sources: %v\n%s", err, out)
	}
	return folder
}

// TestGuide runs the commands that a new operator runs: those of the guide, of the lists in the guide, and
// of the pages about troubleshooting and webhooks, on one installation. The first part of the guide creates
// the installation in a fresh clone.
func TestGuide(t *testing.T) {
	var all []step
	for _, d := range []struct {
		name string
		rows []row
	}{
		{"docs/operations.md", operationsRows},
		{"docs/security.md", securityRows},
		{"docs/proxies.md", proxiesRows},
		{"docs/capacity.md", capacityRows},
		{"docs/troubleshooting.md", troubleshootingRows},
		{"docs/runbooks.md", runbooksRows},
		{"docs/webhooks.md", webhooksRows},
		{"CONTRIBUTING.md", contributingRows},
	} {
		all = append(all, steps(t, filepath.Join(root, d.name), d.rows)...)
	}
	if testing.Short() {
		t.Skip("long tier only: runs these commands; each has its row")
	}
	for _, program := range [][]string{
		{"mariadb", "--version"},
		{"mysqldump", "--version"},
		{"redis-cli", "--version"},
		{"promtool", "--version"},
		{"prometheus", "--version"},
		{"openssl", "version"},
		{"make", "--version"},
		{"/usr/sbin/nginx", "-v"},
	} {
		testdb.Runs(t, program...)
	}
	run(t, newInstallation(t).place, all)
}
