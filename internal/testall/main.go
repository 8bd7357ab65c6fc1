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

func main() {
	servers := testdb.Servers()
	tell(servers)
	args := append([]string{"test"}, os.Args[1:]...)
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "./") }) {
		args = append(args, "./...")
	}
	tests := exec.Command("go", args...) //nolint:gosec // the arguments are the caller's own
	tests.Stdout, tests.Stderr = os.Stdout, os.Stderr
	err := tests.Run()
	fmt.Println()
	tell(servers)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		fmt.Println("the tests failed")
		os.Exit(failed.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("the tests passed")
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
