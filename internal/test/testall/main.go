// Command testall runs the tests of alds in three tiers:
//
//	go run ./internal/test/testall               quick: units and the specification, some minutes
//	go run ./internal/test/testall gate          what .ci/run adds: each system test, with less work
//	go run ./internal/test/testall long [AREA]   everything at full depth, or one area; no time limit
//	go run ./internal/test/testall list          prints the areas and their packages
//
// Further arguments are passed to go test. Those that begin with ./ are packages. testall then tests these
// packages instead of those of the tier:
//
//	go run ./internal/test/testall -count=1
//	ALDS_TEST_MYSQL=mysql://root@127.0.0.1:3320 go run ./internal/test/testall ./internal/query/find
//
// In the tiers quick and gate, testall passes -short to go test. Tests that call testing.Short then test
// only a sample, or run only in the long tier. Every package belongs to one area (see areas.go).
//
// testall prints a line for each package when the package has ended. It prints a failed test at once: its
// output, and the command that runs it alone, with its seed. At the end it prints a summary that fits on a
// screen. Ctrl-C ends the tests, and the summary says how many packages were tested. A second Ctrl-C kills
// the tests.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/test/testdb"
)

func main() {
	args := os.Args[1:]
	if slices.Equal(args, []string{"list"}) {
		printAreas()
		return
	}
	t, flags, err := tierOf(args)
	if err == nil {
		err = run(t, flags)
	}
	switch {
	case errors.Is(err, errRed):
		os.Exit(1)
	case errors.Is(err, errInterrupted):
		os.Exit(130) // as shells do
	case err != nil:
		fmt.Fprintln(os.Stderr, "testall:", err)
		os.Exit(2)
	}
}

// errRed means that a test has failed. The output has already named the test.
var errRed = errors.New("tests failed")

// errInterrupted means that testall got Ctrl-C or SIGTERM.
var errInterrupted = errors.New("interrupted")

func run(t tier, flags []string) error {
	packages, flags, named, err := packagesOf(t, flags)
	if err != nil {
		return err
	}
	if named {
		t.name, t.takes = map[bool]string{true: "short", false: "long"}[t.short], ""
	}
	e := newEnding()
	e.onCtrlC() // before testall starts something that it must end
	folder, release := inMemory()
	defer release()
	servers, address, stopServer, err := findServers(e, folder)
	defer stopServer()
	if e.isAsked() {
		fmt.Println("INTERRUPTED before a test was run")
		return errInterrupted
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall: an own MariaDB cannot be started:", err)
		if os.Getenv("REQUIRE_SERVICES") == "1" {
			return errRed
		}
		servers = append(servers, testdb.Server{Name: "an own MariaDB", Err: err})
	}
	env := append(os.Environ(), withoutC(flags))
	if os.Getenv("GOGC") == "" {
		env = append(env, "GOGC=400") // saves garbage collections of small heaps; testproc removes GOGC for commands
	}
	if folder != "" {
		env = append(env, "TMPDIR="+folder)
	}
	if address != "" {
		env = append(env, "ALDS_TEST_MYSQL="+address)
	}
	fmt.Printf("%s: tests of %d packages.", t.name, len(packages))
	if t.takes != "" {
		fmt.Printf(" This takes %s on two processors.", t.takes)
	}
	fmt.Println()
	printServers(os.Stdout, servers)
	r := newReport(os.Stdout, t, len(packages))
	r.flags, r.env = flags, env
	err = r.test(e, packages)
	if address == "" {
		testdb.Sweep()
	}
	if err != nil {
		return err
	}
	return r.summary(servers)
}

// withoutC returns the setting of CGO_ENABLED for the tests. Tests are compiled without cgo, as the
// commands are, so that code in both is compiled only once. Only the race detector needs cgo.
func withoutC(flags []string) string {
	if slices.Contains(flags, "-race") {
		return "CGO_ENABLED=1"
	}
	return "CGO_ENABLED=0"
}

// packagesOf returns the packages to test and the flags for go test. named is true if the arguments name
// the packages. If they do not, it changes to the folder of the repository.
func packagesOf(t tier, args []string) (packages, flags []string, named bool, err error) {
	for _, arg := range args {
		if strings.HasPrefix(arg, "./") {
			packages = append(packages, arg)
		} else {
			flags = append(flags, arg)
		}
	}
	named = len(packages) > 0
	if !named {
		root, err := testdb.FindRoot()
		if err == nil {
			err = os.Chdir(root)
		}
		if err != nil {
			return nil, nil, false, err
		}
		packages = []string{"./..."}
	}
	list := append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"}, packages...)
	out, err := exec.Command("go", list...).Output() //nolint:gosec // the caller's own packages
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, failed.Stderr)
		}
		return nil, nil, false, fmt.Errorf("list the packages: %w", err)
	}
	packages = strings.Fields(string(out))
	if !named {
		packages = slices.DeleteFunc(packages, func(pkg string) bool { return !t.has(areaOf(pkg)) })
	}
	if len(packages) == 0 {
		return nil, nil, false, errors.New("there are no packages with tests")
	}
	slices.SortStableFunc(packages, func(a, b string) int { return weight(b) - weight(a) })
	return packages, flags, named, nil
}

// weight returns a number by which packages are sorted. Packages that take longest begin first, so that no
// long package runs alone at the end.
func weight(pkg string) int {
	return slices.Index(lightToHeavy, strings.TrimPrefix(pkg, modulePath+"internal/"))
}

var lightToHeavy = []string{
	"jobs", "access/auth", "write/bulk", "test/hiddentest", "test/doctest", "test/difftest", "query/find", "operate/check", "test/watchtest",
	"test/torture", "test/deploytest", "test/clienttest", "store/migrate", "write/asset", "test/rightstest", "test/modeltest", "test/spectest",
	"test/faulttest", "store/db", "test/attack", "app", "test/pagetest", "test/costtest",
}

func printServers(out io.Writer, servers []testdb.Server) {
	for _, s := range servers {
		if s.Err == nil {
			fmt.Fprintf(out, "tested with      %s\n", s.Name)
			continue
		}
		why, _, _ := strings.Cut(strings.TrimSpace(s.Err.Error()), "\n")
		fmt.Fprintf(out, "NOT tested with  %s: %s\n", s.Name, why)
	}
}
