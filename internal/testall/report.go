package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/testdb"
)

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what is compiled
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// report is what came of the tests so far.
type report struct {
	tier     tier
	began    time.Time
	packages int      // to be tested
	flags    []string // for go test

	ended, empty            int // packages
	passed, failed, skipped int // tests without subtests, and subtests
	tests                   map[string]*test
	built                   map[string][]string // what the compiler said, by package
	bad                     []string            // a line for each failure
	reasons                 map[string]int      // of skipped tests
}

// test is a test that runs, or a package (without a name).
type test struct {
	pkg, name string
	output    []string
	parent    bool // has subtests
	red       bool // one of its subtests has failed
}

// keptLines is how many lines of a test are kept, and shown if it fails.
const keptLines = 60

// quietFor is after how much silence testall says what it waits for.
const quietFor = 15 * time.Second

// test runs go test and reports what it says.
func (r *report) test(packages []string) error {
	r.tests, r.built, r.reasons = map[string]*test{}, map[string][]string{}, map[string]int{}
	args := []string{"test", "-json"}
	if r.tier.short {
		args = append(args, "-short")
	}
	if !slices.ContainsFunc(r.flags, func(f string) bool { return strings.HasPrefix(f, "-timeout") }) {
		args = append(args, "-timeout", map[bool]string{true: "15m", false: "4h"}[r.tier.short])
	}
	tests := exec.Command("go", slices.Concat(args, r.flags, packages)...) //nolint:gosec // the arguments are the caller's own
	tests.Stderr = os.Stderr
	out, err := tests.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tests.Start(); err != nil {
		return err
	}
	events := make(chan event)
	go func() {
		defer close(events)
		read(out, events)
	}()
	r.follow(events)
	if err := tests.Wait(); err != nil && r.failed == 0 {
		r.bad = append(r.bad, "go test: "+err.Error())
		r.failed++
	}
	return nil
}

// read parses the lines of go test; what is no event is printed as it is.
func read(out io.Reader, events chan<- event) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		events <- e
	}
}

// follow reports events as they come, and what is awaited when none does.
func (r *report) follow(events <-chan event) {
	running := map[string]time.Time{}
	quiet := time.NewTicker(quietFor)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return
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
		case <-quiet.C:
			var names []string
			for _, pkg := range slices.Sorted(maps.Keys(running)) {
				names = append(names, short(pkg))
			}
			what := "compiling"
			if len(names) > 0 {
				what = strings.Join(names, ", ")
			}
			fmt.Printf("      %6s  ... %s\n", since(r.began), what)
		}
	}
}

// take counts an event, and prints what a reader wants to know at once.
func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		pkg, _, _ := strings.Cut(e.ImportPath, " ")
		r.built[pkg] = append(r.built[pkg], e.Output)
	case "output":
		if t := r.of(e); t != nil {
			t.output = append(t.output, e.Output)
			t.output = t.output[max(0, len(t.output)-keptLines):]
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
		delete(r.tests, key)
	}
}

// of is the test of an event, which is made known with those that it is part of.
func (r *report) of(e event) *test {
	key := e.Package + " " + e.Test
	if r.tests[key] == nil {
		r.tests[key] = &test{pkg: e.Package, name: e.Test}
		if up, ok := upper(e.Test); ok {
			r.of(event{Package: e.Package, Test: up}).parent = true
		}
	}
	return r.tests[key]
}

// upper is the test that a subtest is part of.
func upper(name string) (string, bool) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], i > 0
}

func (r *report) testEnded(e event) {
	t := r.of(e)
	if t.parent && !(e.Action == "fail" && !t.red) {
		if e.Action != "fail" {
			return
		}
	} else {
		switch e.Action {
		case "pass":
			r.passed++
		case "skip":
			r.skipped++
			r.reasons[reason(t.output)]++
		case "fail":
			r.failed++
			r.tellFailed(t)
		}
	}
	if up, ok := upper(e.Test); ok && e.Action == "fail" {
		r.of(event{Package: e.Package, Test: up}).red = true
	}
	if e.Action == "fail" {
		r.of(event{Package: e.Package}).red = true
	}
}

func (r *report) packageEnded(e event) {
	t := r.of(e)
	r.ended++
	result := "ok"
	switch {
	case e.Action == "skip":
		r.empty++
		return
	case e.Action == "fail":
		result = "FAILED"
		if !t.red { // it did not compile, TestMain failed, or it ended in the middle of a test
			r.failed++
			t.output = slices.Concat(r.built[e.Package], r.unended(e.Package), t.output)
			r.tellFailed(t)
		}
	}
	fmt.Printf("%-6s%6.1fs  %s (%d of %d)\n", result, e.Elapsed, short(e.Package), r.ended, r.packages)
}

// unended are the outputs of tests that their package did not end.
func (r *report) unended(pkg string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(r.tests)) {
		if t := r.tests[key]; t.pkg == pkg && t.name != "" {
			all = append(all, t.output...)
		}
	}
	return all
}

// seed finds the flag by which a test is repeated, where its output names one.
var seed = regexp.MustCompile(`-[a-z.]*seed[ =][0-9]+`)

// tellFailed prints a failed test, and how to run it alone.
func (r *report) tellFailed(t *test) {
	alone := "go test ./internal/" + folder(t.pkg) + " -count=1"
	if r.tier.short {
		alone += " -short"
	}
	if t.name != "" {
		alone += " -run '" + exactly(t.name) + "'"
	}
	if flags := seed.FindAllString(strings.Join(t.output, ""), -1); len(flags) > 0 {
		alone += " " + flags[len(flags)-1]
	}
	fmt.Printf("\nFAILED %s %s\n", short(t.pkg), t.name)
	for _, line := range t.output {
		fmt.Print("    " + line)
	}
	fmt.Printf("  alone: %s\n\n", alone)
	r.bad = append(r.bad, fmt.Sprintf("%s %s\n    %s", short(t.pkg), t.name, alone))
}

// exactly is the pattern for -run of one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func folder(pkg string) string {
	return strings.TrimPrefix(pkg, modulePath+"internal/")
}

func short(pkg string) string { return strings.TrimPrefix(pkg, modulePath) }

// reason is why a test was skipped: the last line that it printed before go test's own.
func reason(output []string) string {
	for _, line := range slices.Backward(output) {
		if _, text, ok := strings.Cut(line, ".go:"); ok {
			_, text, _ = strings.Cut(text, ": ")
			return strings.TrimSpace(text)
		}
	}
	return "no reason given"
}

func since(t time.Time) string {
	d := time.Since(t).Round(time.Second)
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// summaryLines is how many failures and reasons a summary lists.
const summaryLines = 12

// summary prints the result on one screen.
func (r *report) summary(servers []testdb.Server) error {
	fmt.Printf("\n== %s: %d packages in %s\n", r.tier.name, r.ended, since(r.began))
	printServers(servers)
	for _, why := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Printf("skipped %4d      %.120s\n", r.reasons[why], why)
	}
	if r.tier.short {
		fmt.Println("not tested here  what `go run ./internal/testall list` names for other tiers, and the depth of `make long`")
	}
	for i, line := range r.bad {
		if i == summaryLines {
			fmt.Printf("FAILED and %d more, above\n", len(r.bad)-i)
			break
		}
		fmt.Println("FAILED " + line)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	if r.failed > 0 {
		return errRed
	}
	return nil
}
