package command

import (
	"bytes"
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/embedded"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
	"github.com/alds-dev/alds/internal/test/testproc"
)

func TestMain(m *testing.M) {
	auth.ForTests()
	testdb.Main(m)
}

// testKey is the key for stored secrets. testproc.Serve uses the same key.
const testKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// quiet returns an environment with these settings, whose log is discarded.
func quiet(settings map[string]string) app.Environment {
	return app.Environment{Getenv: func(name string) string { return settings[name] }, Stderr: io.Discard}
}

// output runs a command of api and returns what it prints.
func output(t *testing.T, settings map[string]string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, outside{quiet(settings), strings.NewReader(""), &out}, app.API)
	return out.String(), err
}

// migrated returns the settings for a new database with the current schema.
func migrated(t *testing.T, dialect string) map[string]string {
	t.Helper()
	settings := map[string]string{"DATABASE_URL": testdb.URL(t, dialect), "ALDS_ADMIN_PASSWORD": "first"}
	if err := app.Migrate(t.Context(), quiet(settings), app.API); err != nil {
		t.Fatal(err)
	}
	return settings
}

// open opens the database of these settings until the test ends.
func open(t *testing.T, settings map[string]string) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), settings["DATABASE_URL"], db.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// commandCase is a command line and its expected results.
type commandCase struct {
	line   string // the binary and its arguments; a space in an argument is written _
	env    string // NAME=value, separated by spaces
	stdin  string
	status int
	stdout string // parts of the output in this order, separated by |; empty: no output
	stderr string // parts of the error output, in the same form as stdout
	absent string // text that neither output contains
}

var binaries = map[string]app.Role{"api": app.API, "worker": app.Worker, "scheduler": app.Scheduler, "standalone": app.StandaloneWith(embedded.Start)}

// run runs a command line with these settings and the settings of the case.
func (c commandCase) run(t *testing.T, settings map[string]string) {
	t.Helper()
	env := maps.Clone(settings)
	if env == nil {
		env = map[string]string{}
	}
	for _, variable := range strings.Fields(c.env) {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	args := strings.Split(c.line, " ")
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "_", " ")
	}
	var stdout, stderr bytes.Buffer
	status := execute(t.Context(), args[1:], outside{
		app.Environment{Getenv: func(name string) string { return env[name] }, Names: slices.Collect(maps.Keys(env)), Stderr: &stderr},
		strings.NewReader(c.stdin), &stdout,
	}, binaries[args[0]])
	if status != c.status || !hasInOrder(stdout.String(), c.stdout) || !hasInOrder(stderr.String(), c.stderr) ||
		c.absent != "" && strings.Contains(stdout.String()+stderr.String(), c.absent) || status == 2 && strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("%s %s: status %d, want %d\nstdout, want %q, never %q:\n%s\nstderr, want %q:\n%s",
			c.env, c.line, status, c.status, c.stdout, c.absent, &stdout, c.stderr, &stderr)
	}
}

// hasInOrder reports whether a text contains all parts of a list, in this order. For an empty
// list, the text must be empty.
func hasInOrder(text, list string) bool {
	if list == "" {
		return text == ""
	}
	for part := range strings.SplitSeq(list, "|") {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

func TestCommandLines(t *testing.T) {
	for _, c := range []commandCase{
		{line: "api --help", stdout: "Usage: api|serves the HTTP interface|migrate|export|restore|check|repair|token create --member=NAME --name=TEXT|token list|token revoke|password --member=NAME"},
		{line: "api -h", stdout: "Usage: api|migrate"},
		{line: "api help", stdout: "Usage: api|migrate"},
		{line: "api --version", stdout: "api "},
		{line: "api help token", stdout: "Usage: api token|create|list|revoke", absent: "migrate"},
		{line: "api token create --help", stdout: "Usage: api token create|--expires=TIME"},
		{line: "api help token revoke", stdout: "Usage: api token revoke <id>"},
		{line: "api migrate -h", stdout: "Usage: api migrate|Create or update the schema"},
		{line: "worker --help", stdout: "Usage: worker|delivers the events|health", absent: "migrate"},
		{line: "worker help", stdout: "Usage: worker", absent: "token"},
		{line: "worker --version", stdout: "worker "},
		{line: "scheduler -h", stdout: "Usage: scheduler|periodic work|health", absent: "migrate"},
		{line: "scheduler --version", stdout: "scheduler "},
		{line: "standalone --help", stdout: "Usage: standalone|in one process|password --member=NAME"},
		{line: "standalone --version", stdout: "standalone "},

		{line: "api frobnicate", status: 2, stderr: "alds: unexpected argument frobnicate|; see `api --help`\n", absent: "Usage"},
		{line: "api migrat", status: 2, stderr: `did you mean "migrate"` + "|; see `api --help`\n", absent: "Usage"},
		{line: "api --port 80", status: 2, stderr: "unknown flag --port|; see `api --help`\n", absent: "Usage"},
		{line: "api migrate foo", status: 2, stderr: "unexpected argument foo|; see `api migrate --help`\n", absent: "Usage"},
		{line: "api migrate --foo", status: 2, stderr: "unknown flag --foo|; see `api migrate --help`\n", absent: "Usage"},
		{line: "api migrate --check foo", status: 2, stderr: "unexpected argument foo|; see `api migrate --help`\n", absent: "Usage"},
		{line: "api export foo", status: 2, stderr: "unexpected argument foo|; see `api export --help`\n", absent: "Usage"},
		{line: "api restore --foo", status: 2, stderr: "unknown flag --foo|; see `api restore --help`\n", absent: "Usage"},
		{line: "api check foo", status: 2, stderr: "unexpected argument foo|; see `api check --help`\n", absent: "Usage"},
		{line: "api token", status: 2, stderr: "create|list|revoke|; see `api token --help`\n", absent: "Usage"},
		{line: "api token destroy", status: 2, stderr: "unexpected argument destroy|; see `api token --help`\n", absent: "Usage"},
		{line: "api token create --foo", status: 2, stderr: "unknown flag --foo|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token create --name x", status: 2, stderr: "missing flags: --member=NAME|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token create --member admin", status: 2, stderr: "missing flags: --name=TEXT|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token create --member admin --name x --expires 2020-01-01", status: 2, stderr: "not in the future|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token create --member admin --name x --expires soon", status: 2, stderr: "--expires: soon is neither|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token create --member admin --name x --expires 0s", status: 2, stderr: "not in the future|; see `api token create --help`\n", absent: "Usage"},
		{line: "api token list admin", status: 2, stderr: "unexpected argument admin|; see `api token list --help`\n", absent: "Usage"},
		{line: "api token revoke", status: 2, stderr: `"<id>"` + "|; see `api token revoke --help`\n", absent: "Usage"},
		{line: "api token revoke a b", status: 2, stderr: "unexpected argument b|; see `api token revoke --help`\n", absent: "Usage"},
		{line: "api password", status: 2, stderr: "missing flags: --member=NAME|; see `api password --help`\n", absent: "Usage"},
		{line: "api password --member admin hunter2", status: 2, stderr: "the password cannot be an argument|; see `api password --help`\n", absent: "hunter2"},
		{line: "api password --member admin --password hunter2", status: 2, stderr: "unknown flag --password|; see `api password --help`\n", absent: "hunter2"},
		{line: "api settings StoryTrackingLevel", status: 2, stderr: "StoryTrackingLevel is not of the form NAME=LEVEL|; see `api settings --help`\n", absent: "Usage"},
		{line: "worker foo", status: 2, stderr: "unexpected argument foo|; see `worker --help`\n", absent: "Usage"},
		{line: "worker migrate", status: 2, stderr: "unexpected argument migrate|; see `worker --help`\n", absent: "Usage"},
		{line: "worker --foo", status: 2, stderr: "unknown flag --foo|; see `worker --help`\n", absent: "Usage"},
		{line: "scheduler token list", status: 2, stderr: "unexpected argument token|; see `scheduler --help`\n", absent: "Usage"},
		{line: "standalone foo", status: 2, stderr: "unexpected argument foo|; see `standalone --help`\n", absent: "Usage"},

		{line: "api", status: 1, stderr: "DATABASE_URL is not set|REDIS_URL is not set|ALDS_SECRET_KEY is not set", absent: "Usage"},
		{line: "worker", status: 1, stderr: "DATABASE_URL is not set|REDIS_URL is not set|ALDS_SECRET_KEY is not set"},
		{line: "scheduler", status: 1, stderr: "DATABASE_URL is not set|REDIS_URL is not set|ALDS_SECRET_KEY is not set"},
		{line: "api migrate", status: 1, stderr: "DATABASE_URL is not set", absent: "_KEY"},
		{line: "api migrate --check", status: 1, stderr: "DATABASE_URL is not set", absent: "_KEY"},
		{line: "api check", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api repair --yes", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api repair now", status: 2, stderr: "unexpected argument now; see `api repair --help`\n", absent: "Usage"},
		{line: "api export", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api restore", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api token list", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api password --member admin", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api settings", status: 1, stderr: "DATABASE_URL is not set", absent: "REDIS"},
		{line: "api import csv /nope", status: 1, stderr: "alds: import: open /nope: no such file or directory\n", absent: "goes on"},
		{line: "api import csv", status: 2, stderr: `"<file>"` + "|; see `api import --help`\n", absent: "Usage"},

		{line: "api", env: "ALDS_SECRETKEY=x", status: 1, stderr: `"WARN"|"name":"ALDS_SECRETKEY","nearest":"ALDS_SECRET_KEY"|ALDS_SECRET_KEY is not set`},
		{line: "api migrate", env: "ALDS_FAVOURITE=x ALDS_TEST_MYSQL=x", status: 1, stderr: `"name":"ALDS_FAVOURITE","nearest":""|DATABASE_URL`, absent: "TEST_MYSQL"},
	} {
		c.run(t, nil)
	}
}

// TestALoginThatIsGone checks a database where the administrator cannot log in: check finds it,
// repair prints the command that helps, and this command solves the problem.
func TestALoginThatIsGone(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, dialect)}
			exec := func(statement string) {
				t.Helper()
				d, err := db.Open(t.Context(), settings["DATABASE_URL"], db.Options{MaxConns: 2})
				if err == nil {
					_, err = d.Exec(t.Context(), statement)
					_ = d.Close()
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			commandCase{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=first", stderr: "schema is up to date"}.run(t, settings)
			gone := `its Username is "admin", and nobody can log in with it; set its password: ` + "`api password --member admin`"
			for _, damage := range []struct {
				sql   []string
				found string
			}{
				{[]string{`UPDATE credential SET password_hash = NULL WHERE member_id = 20`, `DELETE FROM audit_trail WHERE id > 0`}, "passwords: credential 0: no login has a password: nobody can log in; set it again: `api password"},
				{[]string{`DELETE FROM credential WHERE member_id = 20`}, "logins: asset 20: " + gone},
			} {
				for _, statement := range damage.sql {
					exec(statement)
				}
				for _, c := range []commandCase{
					{line: "api check", status: 1, stdout: damage.found, stderr: "1 findings"},
					{line: "api repair", status: 1, stdout: damage.found, stderr: "none of which can be repaired"},
					{line: "api repair --yes", status: 1, stdout: damage.found, stderr: "1 findings are left"},
					{line: "api password --member ghost", stdin: "x", status: 1, stderr: `no member has the username "ghost"`},
					{line: "api password --member Admin", stdin: "second", stdout: "the password of Admin is set"},
					{line: "api check", stdout: "the database agrees with itself"},
					{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=second", stderr: "schema is up to date", absent: "api password"},
				} {
					c.run(t, settings)
				}
			}
		})
	}
}

// TestCommandsOnADatabase checks that each command needs only the address of the database.
func TestCommandsOnADatabase(t *testing.T) {
	for _, dialect := range []string{"mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			settings := map[string]string{"DATABASE_URL": testdb.EmptyURL(t, dialect)}
			refused := "ALDS_ADMIN_PASSWORD is not set|nothing was changed"
			for _, c := range []commandCase{
				{line: "api migrate --check", stdout: "the database is empty|migrations to run"},
				{line: "api migrate", status: 1, stderr: refused},
				{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=admin", status: 1, stderr: refused},
				{line: "api check", status: 1, stderr: "the database schema is old|run `api migrate`"},
			} {
				c.run(t, settings)
			}
			if n := testdb.CountTables(t, settings["DATABASE_URL"]); n != 0 {
				t.Errorf("%d tables after a migration that was refused", n)
			}
			for _, c := range []commandCase{
				{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=first", stderr: "schema is up to date", absent: "first"},
				{line: "api migrate", stderr: "schema is up to date", absent: "WARN"},
				{line: "api check", stdout: "the database agrees with itself"},
				{line: "api migrate --check", stdout: "no migration is missing"},
				{line: "api export", stdout: `{"alds":"export"`, stderr: "exported"},
				{line: "api restore", stdin: "x", status: 1, stderr: "restore: "},
				{line: "api settings", stdout: "StoryTrackingLevel=Mix|DefectTrackingLevel=Mix"},
				{line: "api settings DefectTrackingLevel=Off StoryTrackingLevel=On", stdout: "StoryTrackingLevel=On|DefectTrackingLevel=Off"},
				{line: "api settings StoryTrackingLevel=Half", status: 1, stderr: "StoryTrackingLevel must be On, Off or Mix"},
				{line: "api settings Tracking=On", status: 1, stderr: "There is no setting Tracking"},
				{line: "api settings StoryTrackingLevel=On StoryTrackingLevel=Off", status: 1, stderr: "StoryTrackingLevel is named twice"},
				{line: "api settings StoryTrackingLevel=Mix", stdout: "StoryTrackingLevel=Mix|DefectTrackingLevel=Off"},
				{line: "api token create --member admin --name nightly", stdout: "1."},
				{line: "api token create --member admin --name nightly --ends-with-password --expires 2h", stdout: "1."},
				{line: "api token list", stdout: "nightly|active|nightly|active, ends with password"},
				{line: "api password --member Admin", stdin: "second one\n", stdout: "the password of Admin is set", absent: "second"},
				{line: "api token list --member admin", stdout: "nightly|active|nightly|revoked"},
				{line: "api password --member admin", stdin: "two\nlines", status: 1, stderr: "more than one line", absent: "two"},
				{line: "api password --member admin", stdin: "", status: 1, stderr: "1 to 1,024 bytes"},
				{line: "api password --member admin", stdin: strings.Repeat("x", 1025), status: 1, stderr: "1 to 1,024 bytes"},
				{line: "api password --member ghost", stdin: "x", status: 1, stderr: `no member has the username "ghost"`},
				{line: "api token revoke x", status: 1, stderr: `no token has the id "x"`},
				{line: "api token create --member admin --name _", status: 1, stderr: "a token needs a name"},
				{line: "api password --member admin", stdin: "third", stdout: "is set"},
				{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=third", stderr: "schema is up to date", absent: "api password"},
				{line: "api migrate", env: "ALDS_ADMIN_PASSWORD=first", stderr: `"INFO"|ALDS_ADMIN_PASSWORD is not|api password|schema is up to date`, absent: "first\""},
			} {
				c.run(t, settings)
			}
		})
	}
}

func TestCommandsDoNotWaitForTheDatabase(t *testing.T) {
	settings := map[string]string{
		"DATABASE_URL": "mysql://root:hush@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1", "ALDS_SECRET_KEY": testKey, "ALDS_ADMIN_PASSWORD": "first",
	}
	for _, args := range [][]string{{"migrate"}, {"check"}, {"token", "create", "--member", "admin", "--name", "x"}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := run(ctx, args, outside{quiet(settings), nil, io.Discard}, app.API)
		if err == nil || !strings.Contains(err.Error(), "open the database") || strings.Contains(err.Error(), "hush") || ctx.Err() != nil {
			t.Errorf("%v: %v", args, err)
		}
		cancel()
	}
}

// TestCommandsWhileStandaloneRuns checks that a second standalone in a folder is refused, and that
// commands work there.
func TestCommandsWhileStandaloneRuns(t *testing.T) {
	folder := t.TempDir()
	testproc.Serve(t, "sqlite", map[string]string{"ALDS_DATA_DIR": folder, "DATABASE_URL": "sqlite:" + filepath.Join(folder, "alds.db")})
	settings := map[string]string{"ALDS_DATA_DIR": folder, "ALDS_ADDR": "127.0.0.1:0"}
	commandCase{
		line: "standalone", status: 1, absent: "WARN",
		stderr: "alds: another standalone runs in the folder " + folder + ": stop it, or choose another folder by ALDS_DATA_DIR and another port by PORT\n",
	}.run(t, settings)
	commandCase{line: "standalone password --member admin", stdin: "second", stdout: "is set"}.run(t, settings)
}
