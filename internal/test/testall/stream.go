package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is a line of the output of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // package that is being compiled
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// quietFor is how long testall waits for the end of a package before it prints which packages are running.
const quietFor = 15 * time.Second

// test runs go test and reports its results.
func (r *report) test(e ending, packages []string) error {
	kept, release := keepBinaries(r.flags)
	defer release()
	for i, group := range kept.groups(packages) {
		if err := r.testGroup(e, kept.flags(i), group); err != nil || e.isAsked() {
			r.interrupted = e.isAsked() && r.ended < r.packages
			return err
		}
	}
	return nil
}

// atOnce returns how many packages are tested at a time. Tests wait for databases and clocks. With only one
// package for each processor, a fifth of the processors' time would be unused. Tests of the gate wait for
// processes, too.
func (t tier) atOnce() int {
	if t.name == "gate" {
		return runtime.GOMAXPROCS(0) + 2
	}
	return runtime.GOMAXPROCS(0) + 1
}

// testGroup runs go test once, for one group of packages.
func (r *report) testGroup(e ending, flags, packages []string) error {
	args := append([]string{"test", "-json", "-vet=off"}, flags...) // the linter runs go vet, once for all steps of the gate
	if !slices.Contains(r.flags, "-p") {
		args = append(args, "-p", strconv.Itoa(r.tier.atOnce()))
	}
	if r.tier.short {
		args = append(args, "-short")
	}
	if !slices.ContainsFunc(r.flags, func(f string) bool { return strings.HasPrefix(f, "-timeout") }) {
		args = append(args, "-timeout", map[bool]string{true: "60m", false: "4h"}[r.tier.short])
	}
	// The flags of tests come after the packages. If they came before, go test would take their values for
	// packages.
	tests := exec.Command("go", slices.Concat(args, packages, r.flags)...) //nolint:gosec // the arguments are the caller's own
	tests.Stderr, tests.Env = os.Stderr, r.env
	out, err := tests.StdoutPipe()
	if err != nil {
		return err
	}
	release, err := e.start(tests)
	if err != nil {
		return err
	}
	defer release()
	events := make(chan event)
	go func() {
		defer close(events)
		r.read(out, events)
	}()
	r.follow(e, events)
	if err := tests.Wait(); r.refused != "" {
		return errors.New(r.refused)
	} else if err != nil && r.failed == 0 && !e.isAsked() {
		r.bad = append(r.bad, "go test: "+err.Error())
		r.failed++
	}
	return nil
}

// read parses the output of go test. It prints a line that is not an event unchanged.
func (r *report) read(out io.Reader, events chan<- event) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(r.out, lines.Text())
			continue
		}
		events <- e
	}
}

// follow handles events when they arrive. If no package ends for quietFor, it prints which packages are
// running.
func (r *report) follow(end ending, events <-chan event) {
	running := map[string]time.Time{}
	quiet := time.NewTicker(quietFor)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
			}
			if end.isAsked() { // tests fail now because they were interrupted
				continue
			}
			switch e.Action {
			case "start":
				running[e.Package] = time.Now()
			case "pass", "fail", "skip":
				if e.Test == "" {
					delete(running, e.Package)
					quiet.Reset(quietFor)
				}
			}
			r.take(e)
			if r.refused != "" {
				end.signals <- os.Interrupt
				<-end.asked
			}
		case <-quiet.C:
			var names []string
			for _, pkg := range slices.Sorted(maps.Keys(running)) {
				names = append(names, short(pkg))
			}
			what := "compiling"
			if len(names) > 0 {
				what = strings.Join(names, ", ")
			}
			fmt.Fprintf(r.out, "      %6s  ... %s\n", since(r.began), what)
		}
	}
}
