package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// stubborn is a script that prints a line. The script and its child process ignore SIGINT.
const stubborn = `trap "" INT; sleep 600 & echo up; wait`

// TestForcedEnd checks that the second Ctrl-C ends processes that have ignored the first.
func TestForcedEnd(t *testing.T) {
	e := newEnding()
	cmd := exec.Command("sh", "-c", stubborn)
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = in
	release, err := e.start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil || e.isAsked() {
		t.Fatal(err, e.isAsked())
	}
	e.signals <- os.Interrupt
	e.signals <- os.Interrupt
	if _, err := io.ReadAll(out); err != nil { // returns when both processes have ended
		t.Error(err)
	}
	if cmd.Wait() == nil || !e.isAsked() {
		t.Error("it has ended without a signal")
	}
	release()
}

// TestGuard starts processes as testall does, and is then killed. The processes must end, too.
func TestGuard(t *testing.T) {
	if os.Getenv("ALDS_TESTALL_IS_KILLED") != "" {
		cmd := exec.Command("sh", "-c", stubborn)
		cmd.Stderr = os.Stdout // so the test can read until all processes have ended
		if _, err := newEnding().start(cmd); err != nil {
			t.Fatal(err)
		}
		fmt.Println("up") // from now on the guard runs, too
		fmt.Println(cmd.Wait())
		return
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^TestGuard$")
	cmd.Env = append(os.Environ(), "ALDS_TESTALL_IS_KILLED=1")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // returns when all processes have ended
		t.Errorf("it printed %q (%v)", rest, err)
	}
	if cmd.Wait() == nil {
		t.Error("it was not killed")
	}
}

// TestOwnServer puts other programs in the place of those of MariaDB. findServers must report why it does
// not use them.
func TestOwnServer(t *testing.T) {
	t.Setenv("ALDS_TEST_MYSQL", "")
	for _, c := range []struct {
		name, install, daemon string
		ctrlC                 bool
		why                   string
	}{
		{"the data cannot be made", "exit 3", "exit 0", false, "exit status 3"},
		{"the server ends", "exit 0", "echo unknown option >&2", false, "ended at its start"},
		{"Ctrl-C while the data is made", "exec sleep 600", "exit 0", true, "signal: "}, // SIGINT, or SIGKILL if the program has missed SIGINT
	} {
		t.Run(c.name, func(t *testing.T) {
			bin := t.TempDir()
			for name, does := range map[string]string{"mariadb-install-db": c.install, "mariadbd": c.daemon} {
				if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+does+"\n"), 0o755); err != nil { //nolint:gosec // a program
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			e := newEnding()
			if c.ctrlC {
				e.signals <- os.Interrupt
			}
			servers, address, stop, err := findServers(e, t.TempDir())
			stop()
			if err == nil || address != "" || len(servers) == 0 {
				t.Fatalf("%q is used: %v", address, err)
			}
			if c.name == "the server ends" && !strings.Contains(err.Error(), "unknown option") {
				t.Errorf("the server's output is missing in %v", err)
			}
			if line, _, _ := strings.Cut(err.Error(), "\n"); !strings.Contains(line, c.why) {
				t.Errorf("the first line of the error is %q, want %q", line, c.why)
			}
		})
	}
}
