package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReport passes output of go test to a report, and compares what the report prints.
func TestReport(t *testing.T) {
	const pkg = `"Package":"github.com/alds-dev/alds/internal/x"`
	for _, c := range []struct {
		name   string
		events []string
		prints []string // in this order
		never  string
		red    bool
	}{
		{
			"tests and subtests that pass are counted once",
			[]string{`"Action":"start"`, `"Action":"run","Test":"TestA"`, `"Action":"run","Test":"TestA/b"`, `"Action":"output","Test":"TestA/b","Output":"noise\n"`, `"Action":"pass","Test":"TestA/b"`, `"Action":"pass","Test":"TestA"`, `"Action":"pass","Elapsed":1.5`},
			[]string{"ok       1.5s  internal/x (1 of 1)", "1 passed, 0 failed, 0 skipped"},
			"noise", false,
		},
		{
			"a failed subtest is printed with its seed, and the test that it is part of with what both share",
			[]string{`"Action":"run","Test":"TestA"`, `"Action":"run","Test":"TestA/b/c"`, `"Action":"output","Test":"TestA/b/c","Output":"    a_test.go:1: repeat with -seed 17\n"`, `"Action":"output","Test":"TestA/b/c","Output":"    a_test.go:2: wrong\n"`, `"Action":"fail","Test":"TestA/b/c"`, `"Action":"output","Test":"TestA","Output":"    log of the api\n"`, `"Action":"fail","Test":"TestA"`, `"Action":"fail","Elapsed":0.1`},
			[]string{"FAILED internal/x TestA/b/c\n", "wrong\n", "alone: REQUIRE_SERVICES=1 go run ./internal/test/testall ./internal/x -count=1 -run '^TestA$/^b$/^c$' -seed 17", "log of the api", "FAILED   0.1s  internal/x", "== quick", "FAILED internal/x TestA/b/c\n    REQUIRE_SERVICES=1 go run", "0 passed, 1 failed, 0 skipped"},
			"", true,
		},
		{
			"a package that does not compile shows what the compiler said",
			[]string{`"ImportPath":"github.com/alds-dev/alds/internal/x [github.com/alds-dev/alds/internal/x.test]","Action":"build-output","Output":"x.go:3: undefined: y\n"`, `"Action":"fail","Elapsed":0`},
			[]string{"FAILED internal/x \n", "undefined: y", "alone: REQUIRE_SERVICES=1 go run ./internal/test/testall ./internal/x -count=1\n", "0 passed, 1 failed, 0 skipped"},
			"", true,
		},
		{
			"a process that ends in the middle of a test shows that test",
			[]string{`"Action":"run","Test":"TestA"`, `"Action":"output","Test":"TestA","Output":"panic: half way\n"`, `"Action":"fail","Elapsed":0`},
			[]string{"FAILED internal/x", "panic: half way", "1 failed"},
			"", true,
		},
		{
			"tests that run at a timeout are named, with the begin and the end of the crash",
			append(append([]string{`"Action":"run","Test":"TestA"`, `"Action":"run","Test":"TestA/it's"`, `"Action":"run","Test":"TestA/later"`, `"Action":"pause","Test":"TestA/later"`, `"Action":"run","Test":"TestB"`},
				slices.Repeat([]string{`"Action":"output","Test":"TestB","Output":"noise\n"`}, 100)...),
				append(append([]string{`"Action":"output","Test":"TestB","Output":"panic: test timed out\n"`, `"Action":"output","Test":"TestB","Output":"\trunning tests:\n"`},
					slices.Repeat([]string{`"Action":"output","Test":"TestB","Output":"goroutine\n"`}, 100)...),
					`"Action":"output","Test":"TestB","Output":"the end\n"`, `"Action":"fail"`)...),
			[]string{"FAILED internal/x TestA/it's did not end\n", `-run '^TestA$/^it'\''s$'` + "\n", "FAILED internal/x TestB did not end\n", "noise", "panic: test timed out\n", "running tests", "...\n", "the end", "-run '^TestB$'\n", "0 passed, 2 failed"},
			"later", true,
		},
		{
			"a crash after the end of a test is printed with its package",
			[]string{`"Action":"run","Test":"TestA"`, `"Action":"output","Test":"TestA","Output":"panic: too late\n"`, `"Action":"pass","Test":"TestA"`, `"Action":"fail"`},
			[]string{"FAILED internal/x \n", "panic: too late", "1 passed, 1 failed"},
			"", true,
		},
		{
			"no test is no success",
			[]string{`"Action":"pass"`},
			[]string{"0 passed, 0 failed, 0 skipped\nno test ran\n"},
			"", true,
		},
		{
			"skipped tests are counted by reason",
			[]string{`"Action":"run","Test":"TestA"`, `"Action":"output","Test":"TestA","Output":"    a_test.go:4: long tier only: walks every type\n"`, `"Action":"output","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"`, `"Action":"skip","Test":"TestA"`, `"Action":"pass","Elapsed":0`},
			[]string{"skipped    1      long tier only: walks every type", "0 passed, 0 failed, 1 skipped"},
			"", false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("ALDS_TEST_MYSQL", "")
			t.Setenv("ALDS_TEST_REDIS", "")
			var out bytes.Buffer
			quick, _, err := tierOf(nil)
			if err != nil {
				t.Fatal(err)
			}
			r := newReport(&out, quick, 1)
			for _, text := range c.events {
				if !strings.Contains(text, "ImportPath") {
					text = pkg + "," + text
				} else if strings.Contains(text, `"fail"`) {
					t.Fatal("a package ends by its name")
				}
				var e event
				if err := json.Unmarshal([]byte("{"+text+"}"), &e); err != nil {
					t.Fatal(err)
				}
				r.take(e)
			}
			if err := r.summary(nil); (err != nil) != c.red {
				t.Errorf("summary returns %v", err)
			}
			rest := out.String()
			for _, want := range c.prints {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%q is missing, or not in its place, in\n%s", want, &out)
				}
				rest = after
			}
			if c.never != "" && strings.Contains(out.String(), c.never) {
				t.Errorf("%q is printed:\n%s", c.never, &out)
			}
		})
	}
}

// TestAlone checks the command that runs one test alone.
func TestAlone(t *testing.T) {
	t.Setenv("ALDS_TEST_MYSQL", "mysql://root:a&b@h")
	t.Setenv("ALDS_TEST_REDIS", "")
	long, flags, err := tierOf([]string{"long", "-race", "-run", "A|B", "-count=1", "-x.for", "2 m"})
	if err != nil {
		t.Fatal(err)
	}
	r := newReport(io.Discard, long, 1)
	r.flags = flags
	const begin = "REQUIRE_SERVICES=1 ALDS_TEST_MYSQL='mysql://root:a&b@h' go run ./internal/test/testall long ./internal/x -count=1 "
	for name, want := range map[string]string{
		"TestA/b": "-run '^TestA$/^b$' -race -x.for '2 m' -x.seed 5",
		"":        "-race -run 'A|B' -x.for '2 m' -x.seed 5", // the whole package, not one test
	} {
		got := r.alone(&test{pkg: modulePath + "internal/x", name: name, output: []string{"-x.seed 4\n", "-x.seed 5\n"}})
		if got != begin+want {
			t.Errorf("got  %s\nwant %s", got, begin+want)
		}
	}
}

// TestSummaryIsShort checks that a summary with many reasons and failures fits on a screen. It also checks
// the summary after Ctrl-C.
func TestSummaryIsShort(t *testing.T) {
	var out bytes.Buffer
	r := newReport(&out, tier{}, 9)
	for i := range 100 {
		r.reasons[fmt.Sprint("reason ", i)] = i
		r.bad = append(r.bad, "internal/x\n    command")
	}
	r.ended, r.interrupted = 4, true
	if err := r.summary(nil); !errors.Is(err, errInterrupted) {
		t.Errorf("summary returns %v", err)
	}
	if n := strings.Count(out.String(), "\n"); n > 45 {
		t.Errorf("%d lines", n)
	}
	for _, want := range []string{"skipped   99      reason 99\n", "for 88 more reasons\n", "FAILED and 88 more, above\n", "INTERRUPTED after 4 of 9 packages\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}

// TestRun tests a module that it creates itself.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n",
		"a_test.go": `package a

import (
	"os"
	"testing"
)

func TestHangs(t *testing.T) { select {} }

func TestExits(t *testing.T) { os.Exit(3) }
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, c := range []struct{ flags, prints, err string }{
		{"-run=Hangs -timeout=1s", "FAILED m TestHangs did not end\n    panic: test timed out after 1s\n", ""},
		{"-run=Exits", "FAILED m TestExits did not end\n", ""},
		{"-run=Exits -bogus 2", "", "the tests of m have no flag -bogus"},
	} {
		var out bytes.Buffer
		r := newReport(&out, tier{short: true}, 1)
		r.flags = append([]string{"-ldflags=-s"}, strings.Fields(c.flags)...) // with this flag, the binary is not kept
		err := r.test(newEnding(), []string{"m"})
		if (err != nil || c.err != "") && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: error %v, want %q", c.flags, err, c.err)
		}
		if !strings.Contains(out.String(), c.prints) {
			t.Errorf("%s: %q is missing in\n%s", c.flags, c.prints, &out)
		}
	}
}

// TestTiers checks which packages each word selects. All other arguments must be passed to go test.
func TestTiers(t *testing.T) {
	for _, c := range []struct {
		args, name, rest string
		short            bool
		has              []string // areas
	}{
		{"", "quick", "", true, []string{"units", "spec"}},
		{"-count=1 ./internal/store/db", "quick", "-count=1 ./internal/store/db", true, []string{"units", "spec"}},
		{"gate -v", "gate", "-v", true, []string{"rights", "random", "attack", "faults", "torture", "pages", "clients", "bench", "operate"}},
		{"long -race", "long", "-race", false, []string{"units", "spec", "rights", "random", "attack", "faults", "torture", "pages", "clients", "bench", "operate"}},
		{"long rights -v", "long rights", "-v", false, []string{"rights"}},
	} {
		got, rest, err := tierOf(strings.Fields(c.args))
		if err != nil || got.name != c.name || got.short != c.short || strings.Join(rest, " ") != c.rest {
			t.Errorf("%q: %q, short %v, and %q (%v)", c.args, got.name, got.short, rest, err)
			continue
		}
		var has []string
		for _, a := range areas {
			if got.has(a) {
				has = append(has, a.name)
			}
		}
		if strings.Join(has, " ") != strings.Join(c.has, " ") {
			t.Errorf("%q tests %v, want %v", c.args, has, c.has)
		}
	}
	for _, args := range []string{"fast", "long everywhere"} {
		if _, _, err := tierOf(strings.Fields(args)); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// TestPackages checks that a tier has the same packages, no matter in which folder of the repository
// testall is started.
func TestPackages(t *testing.T) {
	quick, _, err := tierOf(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("../testdb")
	packages, _, named, err := packagesOf(quick, []string{"-v"})
	if err != nil || named || !slices.Contains(packages, modulePath+"internal/store/db") {
		t.Errorf("packages %q, named %v (%v)", packages, named, err)
	}
	t.Chdir("internal/test")
	if packages, _, named, err = packagesOf(quick, []string{"./testdb"}); err != nil || !named || len(packages) != 1 {
		t.Errorf("packages %q, named %v (%v)", packages, named, err)
	}
}

// quickOrHelpers are the entries of internal/test that need no area of their own: tests of the quick tier,
// and helpers.
var quickOrHelpers = []string{"archtest", "testseed", "testall", "testdb", "testnpm", "testproc", "doc.go"}

// TestAreas checks that every package of internal/test has an area of its own, except for those in
// quickOrHelpers. It also checks that the packages of each area exist.
func TestAreas(t *testing.T) {
	folders, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if areaOf(modulePath+"internal/test/"+f.Name()).packages == nil && !slices.Contains(quickOrHelpers, f.Name()) {
			t.Errorf("internal/test/%s belongs to no area of areas.go", f.Name())
		}
	}
	for _, a := range areas {
		for _, folder := range a.packages {
			if folder == "bench" {
				folder = "../bench"
			}
			if _, err := os.Stat(filepath.Join("../..", folder)); err != nil {
				t.Errorf("area %s: %v", a.name, err)
			}
		}
	}
}
