package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

const usage = `usage:
  %[1]s                                        run
  %[1]s migrate                                bring the schema up to date, fill a new database, and exit
  %[1]s token create --member NAME --name TEXT make an access token for the member with that username
  %[1]s check                                  read the whole database and list what disagrees with itself
Settings come from the environment; see the README.
`

// Main runs the roles, or the command the arguments name, and returns the
// process's exit status. SIGTERM and SIGINT stop it in order; a second one
// ends it at once.
func Main(roles ...Role) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := command(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr, roles...)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, usage, merge(roles).name)
		return 2
	}
	fmt.Fprintf(os.Stderr, "alds: %v\n", err)
	return 1
}

var errUsage = errors.New("unknown command")

// command does what the arguments ask for.
func command(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, roles ...Role) error {
	switch {
	case len(args) == 0:
		return Run(ctx, getenv, stderr, roles...)
	case len(args) == 1 && args[0] == "migrate":
		return Migrate(ctx, getenv, stderr, roles...)
	case len(args) == 1 && args[0] == "check":
		return checkAll(ctx, getenv, stdout, stderr, roles...)
	case len(args) >= 2 && args[0] == "token" && args[1] == "create":
		return createToken(ctx, args[2:], getenv, stdout, stderr, roles...)
	}
	return errUsage
}

// createToken prints a new access token, and nothing else, on stdout.
func createToken(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, roles ...Role) error {
	flags := flag.NewFlagSet("token create", flag.ContinueOnError)
	flags.SetOutput(stderr)
	member := flags.String("member", "", "username of the member the token acts for")
	name := flags.String("name", "", "what the token is for")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return errUsage
	}
	if *member == "" || strings.TrimSpace(*name) == "" {
		return errors.New("token create needs --member and --name")
	}
	s, err := open(ctx, getenv, stderr, merge(roles))
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.ready(ctx); err != nil {
		return err
	}
	token, err := s.auth.CreateToken(ctx, *member, *name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}
