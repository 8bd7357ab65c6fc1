package main

import (
	"cmp"
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

// report has the results of the tests up to now.
type report struct {
	out      io.Writer
	tier     tier
	began    time.Time
	packages int      // number of packages to test
	flags    []string // flags for go test
	env      []string // environment of go test
	refused  string   // why go test refused its arguments; empty: it did not
	// interrupted is true if packages were not tested because of Ctrl-C.
	interrupted bool

	ended                   int // number of packages that have ended
	passed, failed, skipped int // numbers of tests without subtests, and of subtests
	tests                   map[string]*test
	built                   map[string][]string // output of the compiler, by package
	bad                     []string            // one line for each failure
	reasons                 map[string]int      // by reason: number of skipped tests
}

func newReport(out io.Writer, t tier, packages int) *report {
	return &report{
		out: out, tier: t, began: time.Now(), packages: packages,
		tests: map[string]*test{}, built: map[string][]string{}, reasons: map[string]int{},
	}
}

// test is a test or subtest. If name is empty, it is a package.
type test struct {
	pkg, name string
	output    []string
	crash     int  // number of lines to keep from before and at a crash; 0: no crash
	begun     bool // true: it has begun and not ended
	paused    bool // true: it waits for other tests before it continues in parallel
	parent    bool // true: it has subtests
	red       bool // true: one of its subtests has failed
}

// keptLines is how many lines of a test's output are kept, and shown if the test fails. After a crash of
// the process, these are lines from before the crash, the first lines of the crash, and the last lines.
const (
	keptLines  = 60
	crashLines = 20
)

// add keeps a line of output.
func (t *test) add(line string) {
	keep := keptLines
	if t.crash == 0 && (strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ")) {
		t.output = t.output[max(0, len(t.output)-crashLines):]
		t.crash = len(t.output) + crashLines
	}
	if t.crash > 0 {
		keep = t.crash + crashLines
	}
	t.output = append(t.output, line)
	if len(t.output) > keep {
		t.output = slices.Delete(t.output, t.crash, t.crash+1)
		if t.crash > 0 {
			t.output[t.crash] = "...\n"
		}
	}
}

// take handles an event of go test. It counts results, and prints failures at once.
func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		pkg, _, _ := strings.Cut(e.ImportPath, " ")
		r.built[pkg] = append(r.built[pkg], e.Output)
	case "run", "pause", "cont":
		t := r.of(e)
		t.begun, t.paused = true, e.Action == "pause"
	case "output":
		if _, name, ok := strings.Cut(e.Output, "flag provided but not defined: "); ok && e.Test == "" {
			r.refused = fmt.Sprintf("the tests of %s have no flag %s", short(e.Package), strings.TrimSpace(name))
		}
		r.of(e).add(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.packageEnded(e)
		} else {
			r.testEnded(e)
		}
		delete(r.tests, key)
	}
}

// of returns the test that an event is about. It adds the test and its parents if they are new.
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

// upper returns the name of the test that has a subtest. ok is false if name is not the name of a subtest.
// If a test has a slash in its own name, the result is a test that does not exist.
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
	if t.crash > 0 && e.Action != "fail" { // another test has caused the crash
		r.of(event{Package: e.Package}).output = t.output
	}
	switch {
	case e.Action == "fail" && t.red:
		r.show(t) // its failed subtest was already printed; this is its own output
	case e.Action == "fail":
		r.failed++
		r.tellFailed(t, "")
	case t.parent: // only the subtests of a test count
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
		begun, others := r.unended(e.Package)
		switch {
		case len(begun) > 0: // the package ended while tests were running
			begun[0].output = slices.Concat(others, begun[0].output, t.output)
			for _, t := range begun {
				r.failed++
				r.tellFailed(t, " did not end")
			}
		case !t.red: // the package did not compile, or TestMain failed
			r.failed++
			t.output = slices.Concat(r.built[e.Package], others, t.output)
			r.tellFailed(t, "")
		}
	}
	fmt.Fprintf(r.out, "%-6s%6.1fs  %s (%d of %d)\n", result, e.Elapsed, short(e.Package), r.ended, r.packages)
}

// unended returns the tests that were running when their package ended. others is the output of tests that
// only waited for subtests or for other tests.
func (r *report) unended(pkg string) (ran []*test, others []string) {
	parents := map[string]bool{}
	for _, t := range r.tests {
		for up, ok := upper(t.name); ok && t.pkg == pkg && t.begun && !t.paused; up, ok = upper(up) {
			parents[up] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.tests)) {
		switch t := r.tests[key]; {
		case t.pkg != pkg || !t.begun:
		case t.paused || parents[t.name]:
			others = append(others, t.output...)
		default:
			ran = append(ran, t)
		}
	}
	return ran, others
}

// seed matches a flag with a seed in the output of a test. With this flag the test can be repeated.
var seed = regexp.MustCompile(`-[a-z.]*seed[ =][0-9]+`)

// tellFailed prints a failed test, and the command that runs it alone.
func (r *report) tellFailed(t *test, how string) {
	fmt.Fprintf(r.out, "\nFAILED %s %s%s\n", short(t.pkg), t.name, how)
	r.show(t)
	alone := r.alone(t)
	fmt.Fprintf(r.out, "  alone: %s\n\n", alone)
	r.bad = append(r.bad, fmt.Sprintf("%s %s%s\n    %s", short(t.pkg), t.name, how, alone))
}

// alone returns the command that runs only this test, with the servers of this run. The command fails if a
// server is missing.
func (r *report) alone(t *test) string {
	words := []string{"REQUIRE_SERVICES=1"}
	for _, name := range []string{"ALDS_TEST_MYSQL", "ALDS_TEST_REDIS"} {
		if address := os.Getenv(name); address != "" {
			words = append(words, name+"="+quote(address))
		}
	}
	words = append(words, "go run ./internal/test/testall")
	if !r.tier.short {
		words = append(words, "long")
	}
	words = append(words, "./"+short(t.pkg), "-count=1")
	left := []string{"count"}
	if t.name != "" {
		words = append(words, "-run", quote(exactly(t.name)))
		left = append(left, "run", "skip")
	}
	leave := false
	for _, f := range r.flags {
		if strings.HasPrefix(f, "-") {
			name, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
			leave = slices.Contains(left, name)
		}
		if !leave { // a word after a flag is the value of the flag
			words = append(words, quote(f))
		}
	}
	if flags := seed.FindAllString(strings.Join(t.output, ""), -1); len(flags) > 0 {
		words = append(words, flags[len(flags)-1])
	}
	return strings.Join(words, " ")
}

var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// quote returns a word in the form in which the shell reads it as one word.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// show prints the output of a test, without the progress lines of go test.
func (r *report) show(t *test) {
	for _, line := range t.output {
		if text := strings.TrimSpace(line); !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			fmt.Fprint(r.out, "    "+line)
		}
	}
}

// exactly returns a pattern for the flag -run that matches only one test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func short(pkg string) string { return strings.TrimPrefix(pkg, modulePath) }

// reason returns why a test was skipped: the last line that the test itself printed.
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

// summaryLines is how many failures, and how many reasons, a summary lists at most.
const summaryLines = 12

// summary prints the result on one screen. It returns an error if a test failed, if no test ran, or after
// Ctrl-C.
func (r *report) summary(servers []testdb.Server) error {
	fmt.Fprintf(r.out, "\n== %s: %d packages in %s\n", r.tier.name, r.ended, since(r.began))
	printServers(r.out, servers)
	reasons := slices.SortedFunc(maps.Keys(r.reasons), func(a, b string) int {
		return cmp.Or(r.reasons[b]-r.reasons[a], strings.Compare(a, b))
	})
	for _, why := range reasons[:min(len(reasons), summaryLines)] {
		fmt.Fprintf(r.out, "skipped %4d      %.120s\n", r.reasons[why], why)
	}
	if n := len(reasons) - summaryLines; n > 0 {
		fmt.Fprintf(r.out, "skipped           for %d more reasons\n", n)
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
	case r.passed+r.failed+r.skipped == 0:
		fmt.Fprintln(r.out, "no test ran")
		return errRed
	case r.failed > 0:
		return errRed
	}
	return nil
}
