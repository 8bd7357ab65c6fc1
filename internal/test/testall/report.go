package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// report has the results of the tests so far.
type report struct {
	out      io.Writer
	tier     tier
	began    time.Time
	packages int      // to be tested
	flags    []string // for go test
	env      []string // of go test
	// interrupted is set if packages were not tested because of Ctrl-C
	interrupted bool

	ended                   int // packages
	passed, failed, skipped int // tests without subtests, and subtests
	tests                   map[string]*test
	built                   map[string][]string // output of the compiler, by package
	bad                     []string            // a line for each failure
	reasons                 map[string]int      // of skipped tests
}

func newReport(out io.Writer, t tier, packages int) *report {
	return &report{
		out: out, tier: t, began: time.Now(), packages: packages,
		tests: map[string]*test{}, built: map[string][]string{}, reasons: map[string]int{},
	}
}

// test is a test that runs, or a package (without a name).
type test struct {
	pkg, name string
	output    []string
	parent    bool // has subtests
	red       bool // one of its subtests has failed
}

// keptLines is how many lines of a test are stored, and shown if it fails.
const keptLines = 60

// take counts an event, and prints failures at once.
func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		pkg, _, _ := strings.Cut(e.ImportPath, " ")
		r.built[pkg] = append(r.built[pkg], e.Output)
	case "output":
		t := r.of(e)
		t.output = append(t.output, e.Output)
		t.output = t.output[max(0, len(t.output)-keptLines):]
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
		delete(r.tests, key)
	}
}

// of returns the test of an event. It adds the test and its parents if they are new.
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

// upper returns the parent of a subtest. A test whose own name has a slash gets a parent that
// does not exist.
func upper(name string) (string, bool) {
	i := strings.LastIndexByte(name, '/')
	return name[:max(i, 0)], i > 0
}

func (r *report) testEnded(e event) {
	t := r.of(e)
	if e.Action == "fail" {
		for up, ok := upper(e.Test); ok; up, ok = upper(up) {
			r.of(event{Package: e.Package, Test: up}).red = true
		}
		r.of(event{Package: e.Package}).red = true
	}
	switch {
	case e.Action == "fail" && t.red:
		r.show(t) // a subtest was printed already; this is the output of the test itself, such as shared logs
	case e.Action == "fail":
		r.failed++
		r.tellFailed(t)
	case t.parent: // only its subtests are counted
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skipped++
		r.reasons[reason(t.output)]++
	}
}

func (r *report) packageEnded(e event) {
	t := r.of(e)
	r.ended++
	result := "ok"
	if e.Action == "fail" {
		result = "FAILED"
		unended := r.unended(e.Package)
		// The package did not compile, TestMain failed, or the package ended in the middle of a test.
		if !t.red || len(unended) > 0 {
			r.failed++
			t.output = slices.Concat(r.built[e.Package], unended, t.output)
			r.tellFailed(t)
		}
	}
	fmt.Fprintf(r.out, "%-6s%6.1fs  %s (%d of %d)\n", result, e.Elapsed, short(e.Package), r.ended, r.packages)
}

// unended returns the output of tests that had not ended when their package ended.
func (r *report) unended(pkg string) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(r.tests)) {
		if t := r.tests[key]; t.pkg == pkg && t.name != "" {
			all = append(all, t.output...)
		}
	}
	return all
}

// seed matches the flag that repeats a test, if its output names one.
var seed = regexp.MustCompile(`-[a-z.]*seed[ =][0-9]+`)

// tellFailed prints a failed test, and the command that runs it alone.
func (r *report) tellFailed(t *test) {
	alone := "go test ./" + short(t.pkg) + " -count=1"
	if address := os.Getenv("ALDS_TEST_MYSQL"); address != "" {
		alone = "ALDS_TEST_MYSQL=" + address + " " + alone
	}
	if slices.Contains(r.flags, "-race") {
		alone += " -race"
	}
	if r.tier.short {
		alone += " -short"
	}
	if t.name != "" {
		alone += " -run '" + exactly(t.name) + "'"
	}
	if flags := seed.FindAllString(strings.Join(t.output, ""), -1); len(flags) > 0 {
		alone += " " + flags[len(flags)-1]
	}
	fmt.Fprintf(r.out, "\nFAILED %s %s\n", short(t.pkg), t.name)
	r.show(t)
	fmt.Fprintf(r.out, "  alone: %s\n\n", alone)
	r.bad = append(r.bad, fmt.Sprintf("%s %s\n    %s", short(t.pkg), t.name, alone))
}

// show prints the output of a test, without the progress lines of go test.
func (r *report) show(t *test) {
	for _, line := range t.output {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			fmt.Fprint(r.out, "    "+line)
		}
	}
}

// exactly returns the pattern for -run of one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func short(pkg string) string { return strings.TrimPrefix(pkg, modulePath) }

// reason returns why a test was skipped: the last line that it printed before those of go
// test.
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
	fmt.Fprintf(r.out, "\n== %s: %d packages in %s\n", r.tier.name, r.ended, since(r.began))
	printServers(r.out, servers)
	for _, why := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(r.out, "skipped %4d      %.120s\n", r.reasons[why], why)
	}
	if r.tier.takes != "" && r.tier.short {
		fmt.Fprintln(r.out, "not tested here  what `go run ./internal/test/testall list` names for other tiers, and the depth of `make long`")
	}
	for i, line := range r.bad {
		if i == summaryLines {
			fmt.Fprintf(r.out, "FAILED and %d more, above\n", len(r.bad)-i)
			break
		}
		fmt.Fprintln(r.out, "FAILED "+line)
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
	switch {
	case r.interrupted:
		fmt.Fprintf(r.out, "INTERRUPTED after %d of %d packages\n", r.ended, r.packages)
		return errInterrupted
	case r.failed > 0:
		return errRed
	}
	return nil
}
