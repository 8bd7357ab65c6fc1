package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alds-dev/alds/internal/trail"
)

const usage = `usage:
  %[1]s                                        run
  %[1]s migrate                                bring the schema up to date, fill a new database, and exit
  %[1]s token create --member NAME --name TEXT make an access token for the member with that username and print it, once
      --expires 720h                           it ends then: a time from now, a day (2027-01-31, at 00:00 UTC) or an instant
      --ends-with-password                     it is revoked when the member's password changes
  %[1]s token list [--member NAME]             list access tokens, never the tokens themselves; times are UTC
  %[1]s token revoke ID                        end an access token, by the ID of the list; it is refused within a second
  %[1]s check                                  read the whole database and list what disagrees with itself
Settings come from the environment; see the README.
`

// Main runs the roles, or the command in the arguments, and returns the exit
// status. SIGTERM and SIGINT stop it in order; a second one ends it at once.
func Main(roles ...Role) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := command(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr, roles...)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		fmt.Fprintf(os.Stderr, "alds: %v\n", err)
		fmt.Fprintf(os.Stderr, usage, merge(roles).name)
		return 2
	}
	fmt.Fprintf(os.Stderr, "alds: %v\n", err)
	return 1
}

// errUsage is a command that usage does not describe; the exit status is 2.
var errUsage = errors.New("unknown command")

// usageError is an errUsage with a message.
type usageError struct{ msg string }

// Error returns the message.
func (e usageError) Error() string { return e.msg }

// Unwrap makes it an errUsage.
func (usageError) Unwrap() error { return errUsage }

func wrongUsage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// command runs what the arguments name.
func command(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer, roles ...Role) error {
	if len(args) == 0 {
		return Run(ctx, getenv, stderr, roles...)
	}
	ctx = trail.With(ctx, trail.Origin{Address: trail.CommandLine})
	switch {
	case len(args) == 1 && args[0] == "migrate":
		return Migrate(ctx, getenv, stderr, roles...)
	case len(args) == 1 && args[0] == "check":
		return checkAll(ctx, getenv, stdout, stderr, roles...)
	case args[0] == "token":
		return tokenCommand(ctx, args[1:], getenv, stdout, stderr, roles...)
	}
	return errUsage
}
