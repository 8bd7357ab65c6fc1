//go:build unix

package doctest

import (
	"os/exec"
	"testing"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// TestDeploy runs the commands of docs/deploy.md, except for those of the files that deploytest runs.
func TestDeploy(t *testing.T) {
	t.Parallel()
	const heroku, systemctl = "there is no platform here", "there is no systemd that runs here; deploytest runs the units' commands"
	const docker, kubectl = "there is no Docker here; deploytest reads the file with both compose", "there is no cluster here; deploytest runs the manifests' commands"
	machine := t.TempDir()
	testdb.Runs(t, "make", "--version")
	build := exec.CommandContext(t.Context(), "make", "build") // may take longer than the time limit of the shell
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	follow(t, root+"/docs/deploy.md", []row{
		{begins: "make build"},
		{begins: "heroku create", not: heroku},
		{
			begins: "sudo install", after: "for p in api worker scheduler standalone; do " + machine + "/opt/alds/bin/$p --version; done; " +
				"ls " + machine + "/etc/systemd/system/*; stat -c 'the settings are %a' " + machine + "/etc/alds/alds.env",
			prints: `api 0[^\n]*\nworker 0[^\n]*\nscheduler 0[^\n]*\nstandalone 0(.|\n)*alds-worker.service(.|\n)*hardened.conf(.|\n)*the settings are 600`,
		},
		{begins: "sudo systemctl daemon-reload", not: systemctl},
		{
			begins: "sudo sh -c", before: "sed -i \"s|^DATABASE_URL=.*|DATABASE_URL='" + testdb.EmptyURL(t, "mysql") + "'|; s|^ALDS_ADMIN_PASSWORD=.*|ALDS_ADMIN_PASSWORD='choose one'|\" " + machine + "/etc/alds/alds.env\n" +
				"sh -c 'set -a; . " + machine + "/etc/alds/alds.env; exec " + machine + "/opt/alds/bin/api migrate'",
			prints: `schema is up to date(.|\n)*the database agrees with itself`,
		},
		{begins: "docker compose up", not: docker},
		{begins: "kubectl create", not: kubectl},
		{begins: "kubectl --namespace alds delete", not: kubectl},
		{begins: "openssl rand -hex 32", prints: `^[0-9a-f]{64}\s*$`},
	}, nil, "sudo ", "", "/opt/alds", machine+"/opt/alds", "/etc/", machine+"/etc/")
}
