package archtest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/app/config"
)

// TestBuildpack checks the lines in go.mod for the Go buildpack: the version of Go, and the commands to
// install.
func TestBuildpack(t *testing.T) {
	text := string(read(t, "go.mod"))
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(text)
	for _, line := range []string{"// +heroku goVersion go" + version[1], "// +heroku install ./cmd/..."} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("go.mod has no line %s", line)
		}
	}
}

// TestImage checks that the image sets only existing settings. It must not set the port of the api, because
// platforms set PORT.
func TestImage(t *testing.T) {
	known := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Name] = true
	}
	set := regexp.MustCompile(`\b([A-Z][A-Z_]+)=\S`).FindAllStringSubmatch(regexp.MustCompile(`(?m)^ENV (.*\\\n)*.*`).FindString(string(read(t, "Dockerfile"))), -1)
	if len(set) == 0 {
		t.Error("the settings of the image were not found")
	}
	for _, name := range set {
		if !known[name[1]] || name[1] == "ALDS_ADDR" || name[1] == "PORT" {
			t.Errorf("the image sets %s", name[1])
		}
	}
}
