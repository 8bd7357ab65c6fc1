package deploytest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/alds-dev/alds/internal/app/config"
	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

const manifests = root + "/deploy/kubernetes"

// manifest is the part of a Kubernetes object that the test checks.
type manifest struct {
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string
	StringData map[string]string `yaml:"stringData"`
	Spec       struct {
		Replicas int
		Selector map[string]any // labels, for an object of the kind Service
		Ports    []struct {
			TargetPort string `yaml:"targetPort"`
		}
		Template struct {
			Metadata struct {
				Labels      map[string]string
				Annotations map[string]string
			}
			Spec pod
		}
	}
}

type pod struct {
	EnableServiceLinks *bool `yaml:"enableServiceLinks"`
	Grace              int   `yaml:"terminationGracePeriodSeconds"`
	SecurityContext    struct {
		RunAsNonRoot   bool `yaml:"runAsNonRoot"`
		SeccompProfile struct {
			Type string
		} `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container
}

type container struct {
	Image   string
	Command []string
	EnvFrom []struct {
		ConfigMap struct{ Name string } `yaml:"configMapRef"`
		Secret    struct{ Name string } `yaml:"secretRef"`
	} `yaml:"envFrom"`
	Ports []struct {
		Name          string
		ContainerPort string `yaml:"containerPort"`
	}
	Readiness       probe `yaml:"readinessProbe"`
	Liveness        probe `yaml:"livenessProbe"`
	SecurityContext struct {
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities             struct{ Drop []string }
	} `yaml:"securityContext"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func (c container) port(name string) string {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return ""
}

// applied are the files of the manifests in the order in which docs/deploy.md applies them.
var applied = []string{"config.yaml", "secret.example.yaml", "migrate.yaml", "api.yaml", "worker.yaml", "scheduler.yaml"}

func objects(t *testing.T) (all []manifest) {
	t.Helper()
	there, err := filepath.Glob(filepath.Join(manifests, "*"))
	if err != nil || len(there) != len(applied) {
		t.Fatalf("there are %v, not %v: %v", there, applied, err)
	}
	for _, name := range applied {
		text, err := os.ReadFile(filepath.Join(manifests, name))
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var m manifest
			err := d.Decode(&m)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all = append(all, m)
		}
	}
	return all
}

// TestManifests checks that Kubernetes has every field that the manifests use, that the objects refer to
// each other correctly, and that each container has only the rights that it needs.
func TestManifests(t *testing.T) {
	t.Parallel()
	var files []string
	for _, name := range applied {
		files = append(files, filepath.Join(manifests, name))
	}
	kinds := strings.Fields(run(t, ".", nil, append([]string{formats(t), "kubernetes"}, files...)...))
	all := objects(t)
	if len(kinds) != 2*len(all) {
		t.Errorf("%d objects are read strictly, %d here", len(kinds)/2, len(all))
	}
	pods := 0
	for _, m := range all {
		if m.Kind != "Deployment" && m.Kind != "Job" {
			continue
		}
		pods++
		m.checkPod(t)
		m.isSelected(t, all)
	}
	if pods != 4 {
		t.Errorf("%d objects have pods", pods)
	}
}

// TestConnectionsOfManifests checks that all pods together open fewer connections than a database server
// allows by default, even if each pod exists twice during an update.
func TestConnectionsOfManifests(t *testing.T) {
	t.Parallel()
	const (
		allowed = 151
		apart   = 3 // connections of a process outside the pools of db.Pools: two that end statements, and one for readiness
	)
	processes, conns := 0, 0
	for _, m := range objects(t) {
		if m.Kind == "Deployment" {
			processes += 2 * m.Spec.Replicas
		}
		if n, ok := m.Data["ALDS_DB_CONNS"]; ok {
			conns, _ = strconv.Atoi(n)
		}
	}
	d, err := db.Open(t.Context(), testdb.EmptyURL(t, "mysql"), db.Options{MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, each := d.InUse(); processes*(each+apart) > allowed {
		t.Errorf("%d processes with %d connections each", processes, each+apart)
	}
}

func (m manifest) checkPod(t *testing.T) {
	t.Helper()
	name, spec := m.Metadata.Name, m.Spec.Template.Spec
	if len(spec.Containers) != 1 {
		t.Fatalf("%s has %d containers", name, len(spec.Containers))
	}
	c := spec.Containers[0]
	if _, tag, _ := strings.Cut(c.Image, ":"); tag != release.Number {
		t.Errorf("%s runs %s, this is %s", name, c.Image, release.Number)
	}
	if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		t.Errorf("%s gets variables such as ALDS_PORT, which look like settings", name)
	}
	own := c.SecurityContext
	if !spec.SecurityContext.RunAsNonRoot || spec.SecurityContext.SeccompProfile.Type != "RuntimeDefault" || !own.ReadOnlyRootFilesystem ||
		own.AllowPrivilegeEscalation == nil || *own.AllowPrivilegeEscalation || !slices.Equal(own.Capabilities.Drop, []string{"ALL"}) {
		t.Errorf("%s may do more than it needs: %+v %+v", name, spec.SecurityContext, own)
	}
	if m.Kind == "Job" {
		return
	}
	if m.Spec.Template.Metadata.Annotations["prometheus.io/port"] != c.port("admin") {
		t.Errorf("%s: Prometheus does not ask port %s", name, c.port("admin"))
	}
	if c.Readiness.HTTPGet.Path != "/readyz" || c.Readiness.HTTPGet.Port != "admin" || c.Liveness.HTTPGet.Path != "/healthz" || c.Liveness.HTTPGet.Port != "admin" {
		t.Errorf("%s is asked for %+v and %+v", name, c.Readiness, c.Liveness)
	}
}

// isSelected fails the test if a deployment does not select its own pods, if several of its pods may be
// evicted at once, or if the service does not forward to the port of the api.
func (m manifest) isSelected(t *testing.T, all []manifest) {
	t.Helper()
	name, labels := m.Metadata.Name, m.Spec.Template.Metadata.Labels
	if m.Kind == "Deployment" && !selects(m.Spec.Selector["matchLabels"], labels) {
		t.Errorf("%s does not select its pods %v", name, labels)
	}
	isKept, isServed := false, false
	for _, other := range all {
		switch other.Kind {
		case "PodDisruptionBudget":
			isKept = isKept || selects(other.Spec.Selector["matchLabels"], labels)
		case "Service":
			if !selects(map[string]any(other.Spec.Selector), labels) {
				continue
			}
			isServed = true
			if port := m.Spec.Template.Spec.Containers[0].port(other.Spec.Ports[0].TargetPort); port != defaultOf("PORT") {
				t.Errorf("the service leads to port %s of %s", port, name)
			}
		}
	}
	if isKept != (m.Spec.Replicas > 1) || isServed != (name == "alds-api") {
		t.Errorf("%s with %d replicas: a disruption budget %v, a service %v", name, m.Spec.Replicas, isKept, isServed)
	}
}

// selects reports whether a selector is not empty and matches the labels.
func selects(selector any, labels map[string]string) bool {
	wanted, _ := selector.(map[string]any)
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return len(wanted) > 0
}

func defaultOf(setting string) string {
	for _, s := range config.Settings() {
		if s.Name == setting {
			return s.Default
		}
	}
	return ""
}

// TestManifestsRun starts the processes with the commands of the containers, and with the settings of the
// config maps and secrets. The processes together must work as a service.
func TestManifestsRun(t *testing.T) {
	t.Parallel()
	all := objects(t)
	given := map[string]map[string]string{}
	for _, m := range all {
		given[m.Kind+" "+m.Metadata.Name] = m.Data
		if m.Kind == "Secret" {
			given[m.Kind+" "+m.Metadata.Name] = m.StringData
		}
	}
	var processes []started
	for _, m := range all {
		if m.Kind != "Deployment" && m.Kind != "Job" {
			continue
		}
		c := m.Spec.Template.Spec.Containers[0]
		s := started{name: m.Metadata.Name, command: c.Command, settings: map[string]string{}, grace: time.Duration(m.Spec.Template.Spec.Grace) * time.Second}
		for _, from := range c.EnvFrom {
			for _, name := range []string{"ConfigMap " + from.ConfigMap.Name, "Secret " + from.Secret.Name} {
				maps.Copy(s.settings, given[name])
			}
		}
		s.check(t)
		if _, port, err := net.SplitHostPort(s.settings["ALDS_ADMIN_ADDR"]); err != nil || m.Kind == "Deployment" && port != c.port("admin") {
			t.Errorf("%s listens on %s, probes ask %s", s.name, s.settings["ALDS_ADMIN_ADDR"], c.port("admin"))
		}
		processes = append(processes, s)
	}
	runAll(t, processes, service(t))
}
