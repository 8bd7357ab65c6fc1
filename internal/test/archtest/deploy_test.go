package archtest

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/app/config"
)

// compose is the part of docker-compose.yml that the tests check.
type compose struct {
	Services map[string]struct {
		Image       string
		Build       string
		Command     []string
		Environment map[string]string
		Volumes     []string
		DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	}
	Volumes map[string]any
}

func readCompose(t *testing.T) compose {
	t.Helper()
	var c compose
	if err := yaml.Unmarshal(read(t, "docker-compose.yml"), &c); err != nil {
		t.Fatalf("docker-compose.yml: %v", err)
	}
	return c
}

// TestCompose checks that the compose file has the services that the documents describe, on the supported
// servers, and that each role runs an existing command.
func TestCompose(t *testing.T) {
	c := readCompose(t)
	for name, image := range map[string]string{
		"mysql": "mysql:9.7", "redis": "redis:7", "proxy": "haproxy:", "prometheus": "prom/prometheus:", "grafana": "grafana/grafana:",
	} {
		if !strings.HasPrefix(c.Services[name].Image, image) {
			t.Errorf("service %s runs %q, want %s", name, c.Services[name].Image, image)
		}
	}
	for _, role := range []string{"migrate", "api", "worker", "scheduler"} {
		s, ok := c.Services[role]
		if !ok || s.Build != "." || len(s.Command) == 0 {
			t.Errorf("service %s: want one built here that runs a command, got %+v", role, s)
			continue
		}
		if !isCommand(strings.TrimPrefix(s.Command[0], "/")) {
			t.Errorf("service %s runs %q, which is no command of this module", role, s.Command[0])
		}
	}
	for name, s := range c.Services {
		for on := range s.DependsOn {
			if _, ok := c.Services[on]; !ok {
				t.Errorf("service %s depends on %s, which is none", name, on)
			}
		}
		for _, mount := range s.Volumes {
			checkMount(t, name, mount, c.Volumes)
		}
	}
}

func checkMount(t *testing.T, service, mount string, volumes map[string]any) {
	t.Helper()
	source, _, _ := strings.Cut(mount, ":")
	if local, ok := strings.CutPrefix(source, "./"); ok {
		if _, err := os.Stat(filepath.Join(root, local)); err != nil {
			t.Errorf("service %s mounts %s: %v", service, source, err)
		}
	} else if _, ok := volumes[source]; !ok {
		t.Errorf("service %s mounts the volume %s, which is not declared", service, source)
	}
}

// TestComposeSettings checks that the services in docker-compose.yml set only settings of alds that exist.
func TestComposeSettings(t *testing.T) {
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Name] = true
	}
	for name, s := range readCompose(t).Services {
		if s.Build == "" {
			continue
		}
		for setting := range s.Environment {
			if !known[setting] {
				t.Errorf("service %s sets %s, which is no setting", name, setting)
			}
		}
	}
}

func TestProcfile(t *testing.T) {
	want := map[string]string{"web": "bin/api", "worker": "bin/worker", "scheduler": "bin/scheduler", "release": "bin/api migrate"}
	got := map[string]string{}
	for line := range strings.Lines(string(read(t, "Procfile"))) {
		process, command, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Errorf("Procfile: %q is not process: command", line)
			continue
		}
		// A runner that uses a shell can stop the process only if exec replaces the shell with it.
		command, ok = strings.CutPrefix(command, "exec ")
		if !ok {
			t.Errorf("Procfile: the command of %s does not begin with exec", process)
		}
		got[process] = command
		program, _, _ := strings.Cut(command, " ")
		if path.Dir(program) != "bin" || !isCommand(path.Base(program)) {
			t.Errorf("Procfile: %s runs %q, which is no command of this module", process, program)
		}
	}
	for process, command := range want {
		if got[process] != command {
			t.Errorf("Procfile: %s runs %q, want %q", process, got[process], command)
		}
	}
}

// TestProvisioning checks that Prometheus scrapes every role of alds. It also checks that Grafana has a
// data source and finds the dashboards.
func TestProvisioning(t *testing.T) {
	var prometheus struct {
		ScrapeConfigs []struct {
			DNS []struct {
				Names []string
				Port  int
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	var source struct {
		Datasources []struct{ Type, URL string }
	}
	var provided struct {
		Providers []struct{ Options struct{ Path string } }
	}
	for file, into := range map[string]any{
		"dashboards/prometheus.yml": &prometheus, "dashboards/alerts.yml": new(any),
		"dashboards/grafana/datasources.yml": &source, "dashboards/grafana/dashboards.yml": &provided,
	} {
		if err := yaml.Unmarshal(read(t, file), into); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	var targets []string
	for _, s := range prometheus.ScrapeConfigs {
		for _, c := range s.DNS {
			for _, name := range c.Names {
				targets = append(targets, name+":"+strconv.Itoa(c.Port))
			}
		}
	}
	if want := []string{"api:9090", "scheduler:9090", "worker:9090"}; !slices.Equal(sorted(targets), want) {
		t.Errorf("prometheus asks %v, want %v", targets, want)
	}
	if len(source.Datasources) != 1 || source.Datasources[0].Type != "prometheus" {
		t.Errorf("grafana has the data sources %v, want Prometheus", source.Datasources)
	}
	if len(provided.Providers) != 1 {
		t.Fatalf("grafana has the providers %v, want one", provided.Providers)
	}
	mount := "./dashboards/boards:" + provided.Providers[0].Options.Path + ":ro"
	if !slices.Contains(readCompose(t).Services["grafana"].Volumes, mount) {
		t.Errorf("grafana does not mount %s", mount)
	}
}

func isCommand(name string) bool {
	_, err := os.Stat(filepath.Join(root, "cmd", name, "main.go"))
	return err == nil
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func glob(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, p := range patterns {
		names, err := filepath.Glob(filepath.Join(root, p))
		if err != nil {
			t.Fatal(err)
		}
		if len(names) == 0 {
			t.Errorf("no file is called %s", p)
		}
		for _, n := range names {
			all = append(all, strings.TrimPrefix(filepath.ToSlash(n), root+"/"))
		}
	}
	return all
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}
