// Command testall runs every test this machine allows, and says on which
// databases: first what answers, then what go test prints, then what answered
// once more with the outcome. Its arguments go to go test; those that begin
// with ./ are packages, to be tested instead of all.
//
//	go run ./internal/testall
//	REQUIRE_SERVICES=1 go run ./internal/testall -timeout 10m
//	ALDS_TEST_MYSQL=mysql://root@127.0.0.1:3320 go run ./internal/testall ./internal/find
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/testdb"
)

// alone is the package that measures what members feel of each other. It is tested last
// and by itself, so that it does not measure the tests of others.
const alone = "github.com/alds-dev/alds/internal/test/attack"

func main() {
	servers := testdb.Servers()
	tell(servers)
	code, err := testAll(os.Args[1:])
	fmt.Println()
	tell(servers)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	case code != 0:
		fmt.Println("the tests failed")
		os.Exit(code)
	}
	fmt.Println("the tests passed")
}

// testAll tests the packages that the arguments name, or else all, and returns the exit
// code of go test.
func testAll(args []string) (code int, err error) {
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "./") }) {
		return test(args)
	}
	list, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		return 0, fmt.Errorf("list the packages: %w", err)
	}
	others := slices.DeleteFunc(strings.Fields(string(list)), func(pkg string) bool { return pkg == alone })
	for _, packages := range [][]string{others, {alone}} {
		failed, err := test(slices.Concat(args, packages))
		if err != nil {
			return 0, err
		}
		code = max(code, failed)
	}
	return code, nil
}

// test runs go test and returns its exit code.
func test(args []string) (code int, err error) {
	tests := exec.Command("go", append([]string{"test"}, args...)...) //nolint:gosec // the arguments are the caller's own
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	err = tests.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return failed.ExitCode(), nil
	}
	return 0, err
}

func tell(servers []testdb.Server) {
	for _, s := range servers {
		if s.Err == nil {
			fmt.Printf("tested with    %s\n", s.Name)
			continue
		}
		fmt.Printf("NOT tested with %s: %s\n", s.Name, strings.TrimSpace(s.Err.Error()))
	}
}
