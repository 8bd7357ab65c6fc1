package deploytest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

const units = root + "/deploy/systemd"

// most is the highest exposure that systemd may report for a unit, in tenths of a point. systemd rates a
// service below 2.0 points as OK.
const most = "15"

// TestUnits checks that systemd accepts every line of the units, and that it rates their sandboxing as
// good.
func TestUnits(t *testing.T) {
	t.Parallel()
	testdb.Runs(t, "systemd-analyze", "--version")
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	var files []string
	for name, text := range unitFiles(t) {
		for _, c := range []string{"api", "worker", "scheduler", "standalone"} {
			text = strings.ReplaceAll(text, "/opt/alds/bin/"+c, program)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".service") {
			files = append(files, file)
		}
	}
	if len(files) != 5 {
		t.Fatalf("the units are %v", files)
	}
	// systemd-analyze prints unknown lines but does not fail. It also prints lines about other units of
	// this machine.
	for line := range strings.Lines(run(t, dir, os.Environ(), append([]string{"systemd-analyze", "verify"}, files...)...)) {
		if strings.Contains(line, "alds") || strings.Contains(line, dir) {
			t.Errorf("systemd-analyze verify: %s", line)
		}
	}
	for _, f := range files {
		run(t, dir, os.Environ(), "systemd-analyze", "security", "--offline=true", "--threshold="+most, f)
	}
}

// TestUnitsRun starts the processes with the commands and settings of the units, and with the settings of
// the example file for /etc/alds/alds.env. The processes together must work as a service.
func TestUnitsRun(t *testing.T) {
	t.Parallel()
	files, filled := unitFiles(t), service(t)
	var all []started
	for _, name := range []string{"migrate", "api", "worker", "scheduler"} {
		u := parseUnit(t, name, files["alds-"+name+".service"])
		for _, assigned := range u.after {
			if file, isOurs := strings.CutPrefix(assigned, "alds-"); isOurs && files["alds-"+file] == "" {
				t.Errorf("%s is started after alds-%s, which is none", name, file)
			}
		}
		if name != "migrate" && !strings.Contains(strings.Join(u.after, " ")+" "+strings.Join(u.wants, " "), "alds-migrate.service") {
			t.Errorf("%s does not wait for alds-migrate", name)
		}
		u.check(t)
		all = append(all, u.started)
	}
	runAll(t, all, filled)
}

// TestStandaloneUnitRuns starts standalone with the command and the settings of its unit, without those of
// the example file. The process must work as a service.
func TestStandaloneUnitRuns(t *testing.T) {
	t.Parallel()
	u := parseUnit(t, "standalone", unitFiles(t)["alds-standalone.service"])
	u.check(t)
	if u.settings["ALDS_DATA_DIR"] != "/var/lib/"+u.state {
		t.Errorf("the data lies in %s, and systemd makes /var/lib/%s", u.settings["ALDS_DATA_DIR"], u.state)
	}
	for name := range exampleSettings(t) {
		delete(u.settings, name)
	}
	u.settings["ALDS_ADMIN_PASSWORD"] = password
	runAll(t, []started{u.started}, map[string]string{"ALDS_DATA_DIR": t.TempDir()})
}

// unitFiles returns the texts of the unit files. The key is the path below /etc/systemd/system.
func unitFiles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.service", "*/*.conf"} {
		names, err := filepath.Glob(filepath.Join(units, pattern))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Rel(units, n)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	return all
}

// unit is the content of a unit file.
type unit struct {
	started
	after, wants []string
	state        string // value of StateDirectory
}

// parseUnit reads a unit file. Settings of the example file for /etc/alds/alds.env replace settings of the
// unit, as systemd does it.
func parseUnit(t *testing.T, name, text string) unit {
	t.Helper()
	u := unit{started: started{name: name, settings: map[string]string{}, grace: 90 * time.Second}}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "ExecStart":
			u.command = strings.Fields(value)
		case "Environment":
			for _, assigned := range strings.Fields(value) {
				setting, v, _ := strings.Cut(assigned, "=")
				u.settings[setting] = v
			}
		case "TimeoutStopSec":
			seconds, err := strconv.Atoi(value)
			if err != nil {
				t.Errorf("%s: TimeoutStopSec=%s", name, value)
			}
			u.grace = time.Duration(seconds) * time.Second
		case "EnvironmentFile":
			if strings.TrimPrefix(value, "-") != "/etc/alds/alds.env" {
				t.Errorf("%s reads %s", name, value)
			}
		case "After":
			u.after = append(u.after, strings.Fields(value)...)
		case "Wants":
			u.wants = append(u.wants, strings.Fields(value)...)
		case "StateDirectory":
			u.state = value
		}
	}
	for setting, v := range exampleSettings(t) {
		u.settings[setting] = v
	}
	return u
}

// exampleSettings returns the settings of the example file for /etc/alds/alds.env.
func exampleSettings(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, line := range linesOf(t, "deploy/systemd/alds.env.example") {
		setting, v, ok := strings.Cut(line, "=")
		if !ok || len(v) < 2 || v[0] != '\'' || v[len(v)-1] != '\'' {
			t.Errorf("alds.env.example: %s", line)
			continue
		}
		all[setting] = v[1 : len(v)-1]
	}
	return all
}
