package deploytest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// hard is a password with characters that are special in a URL, in a shell and in an environment file.
const hard = `p@:/#?%$x "y" &z`

// composed is the part of the output of compose that the test checks.
type composed struct {
	Services map[string]struct {
		Environment     map[string]string
		StopGracePeriod string                  `yaml:"stop_grace_period"`
		Healthcheck     struct{ Test []string } `yaml:"healthcheck"`
		Ports           []any
	}
}

// TestCompose checks that docker-compose version 1 and the library of the current Docker Compose both
// accept docker-compose.yml, and that both pass a difficult password on unchanged.
func TestCompose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(root, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("MYSQL_PASSWORD=\n", "MYSQL_PASSWORD='"+hard+"'\n", "ALDS_ADMIN_PASSWORD=\n", "ALDS_ADMIN_PASSWORD='"+hard+"'\n",
		"ALDS_SECRET_KEY=\n", "ALDS_SECRET_KEY='"+strings.Repeat("A", 43)+"='\n").Replace(string(text))
	env := filepath.Join(dir, ".env")
	if err := os.WriteFile(env, []byte(filled), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("before", func(t *testing.T) {
		testdb.Runs(t, "docker-compose", "version")
		checkComposed(t, run(t, root, nil, "docker-compose", "--env-file", env, "-f", "docker-compose.yml", "config"))
	})
	t.Run("today", func(t *testing.T) {
		checkComposed(t, run(t, root, nil, formats(t), "compose", env, "docker-compose.yml"))
	})
}

// formats builds the program of the folder formats and returns its path. If the modules of the program
// cannot be downloaded, the test is skipped, or fails with REQUIRE_SERVICES=1.
func formats(t *testing.T) (program string) {
	t.Helper()
	testdb.Runs(t, "go", "-C", "formats", "mod", "download")
	shared, release, err := testdb.Keep("formats") // a folder that later runs reuse
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	run(t, ".", nil, "go", "-C", "formats", "build", "-trimpath", "-o", shared+"/formats", ".")
	text, err := os.ReadFile(shared + "/formats")
	program = filepath.Join(t.TempDir(), "formats")
	if err == nil {
		err = os.WriteFile(program, text, 0o700) //nolint:gosec // it must be executable
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func checkComposed(t *testing.T, text string) {
	t.Helper()
	var c composed
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	unescaped := func(s string) string { return strings.ReplaceAll(s, "$$", "$") } // compose prints $ as $$
	for _, name := range []string{"migrate", "api", "worker", "scheduler"} {
		s := c.Services[name]
		if got := unescaped(s.Environment["ALDS_DATABASE_PASSWORD"]); got != hard {
			t.Errorf("%s has the database's password %s, want %s", name, got, hard)
		}
		var needed time.Duration
		for _, setting := range []string{"ALDS_SHUTDOWN_DELAY", "ALDS_SHUTDOWN_GRACE"} {
			d, err := time.ParseDuration(s.Environment[setting])
			if err != nil {
				t.Errorf("%s: %s: %v", name, setting, err)
			}
			needed += d
		}
		if grace, err := time.ParseDuration(s.StopGracePeriod); err != nil || grace <= needed {
			t.Errorf("%s is killed after %s, and may need %s to stop", name, s.StopGracePeriod, needed)
		}
		if want := "CMD /" + name + " health"; name != "migrate" && strings.Join(s.Healthcheck.Test, " ") != want {
			t.Errorf("%s has the health check %v, want %s", name, s.Healthcheck.Test, want)
		}
		if len(s.Ports) > 0 {
			t.Errorf("%s has ports of the machine, of which there is one, so it cannot be scaled", name)
		}
	}
	if got := unescaped(c.Services["mysql"].Environment["MYSQL_PASSWORD"]); got != hard {
		t.Errorf("the database has the password %s, want %s", got, hard)
	}
}

// TestDockerignore checks that .dockerignore excludes all files that .gitignore excludes. So the image
// never contains local data or secrets.
func TestDockerignore(t *testing.T) {
	var want []string
	for _, line := range linesOf(t, ".gitignore") {
		if name, inRoot := strings.CutPrefix(line, "/"); inRoot {
			want = append(want, strings.TrimSuffix(name, "/"))
		} else {
			want = append(want, "**/"+line)
		}
	}
	if got := linesOf(t, ".dockerignore"); !slices.Equal(got, want) {
		t.Errorf(".dockerignore has %v, .gitignore stands for %v", got, want)
	}
}

// linesOf returns the lines of a file without comments and empty lines.
func linesOf(t *testing.T, name string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, line)
		}
	}
	return all
}
