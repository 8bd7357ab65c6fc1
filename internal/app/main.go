package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/alds-dev/alds/internal/access/trail"
)

// Main runs the roles, or the command in the arguments, and returns the exit status. SIGTERM
// and SIGINT stop it in order. A second signal ends the process at once.
func Main(roles ...Role) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return execute(ctx, os.Args[1:], outside{getenv: os.Getenv, names: names, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}, merge(roles))
}

// outside has the environment variables and standard streams of a process. Tests replace them.
type outside struct {
	getenv func(string) string
	names  []string // of all environment variables
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	later  func(time.Duration, func()) // calls a function after a time; nil: time.AfterFunc
}

// execute runs the command in the arguments, or the role if there are none. It returns the
// exit status: 0 for success, 2 for wrong arguments, 3 for errStop, 1 for any other error.
func execute(ctx context.Context, args []string, o outside, role Role) int {
	err := command(ctx, args, o, role)
	if err == nil {
		return 0
	}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		node := wrong.Context.Model.Node
		if selected := wrong.Context.Selected(); selected != nil {
			node = selected
		}
		fmt.Fprintf(o.stderr, "alds: %v; see `%s --help`\n", err, commandPath(node))
		return 2
	}
	fmt.Fprintf(o.stderr, "alds: %v\n", err)
	if errors.Is(err, errStop) {
		return 3
	}
	return 1
}

// commandPath returns the words that a user types for a command, without its arguments.
func commandPath(n *kong.Node) string {
	for n.Type == kong.ArgumentNode {
		n = n.Parent
	}
	if n.Parent == nil {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

// command runs the command in the arguments, or the role if there are none.
// Errors: *kong.ParseError for wrong arguments; errors of the command or the role.
func command(ctx context.Context, args []string, o outside, role Role) error {
	if len(args) == 0 {
		return run(ctx, o, role)
	}
	chosen, err := parse(args, o, role)
	if err != nil || chosen == nil {
		return err
	}
	chosen.BindTo(trail.With(ctx, trail.Origin{Address: trail.CommandLine}), (*context.Context)(nil))
	return chosen.Run(o, role)
}
