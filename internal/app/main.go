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

// Main runs the roles, or the command in the arguments, and returns the exit
// status. SIGTERM and SIGINT stop it in order; a second one ends it at once.
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

// outside is what a process has from where it was started.
type outside struct {
	getenv func(string) string
	names  []string // of all environment variables
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	later  func(time.Duration, func()) // calls a function after a time; nil: time.AfterFunc
}

// execute runs what the arguments name and returns the exit status: 2 for arguments
// that the role does not take, 3 for errStop and 1 for whatever else failed.
func execute(ctx context.Context, args []string, o outside, role Role) int {
	err := command(ctx, args, o, role)
	if err == nil {
		return 0
	}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		of := wrong.Context.Model.Node
		if selected := wrong.Context.Selected(); selected != nil {
			of = selected
		}
		fmt.Fprintf(o.stderr, "alds: %v; see `%s --help`\n", err, commandPath(of))
		return 2
	}
	fmt.Fprintf(o.stderr, "alds: %v\n", err)
	if errors.Is(err, errStop) {
		return 3
	}
	return 1
}

// commandPath is what is typed for a command, without its arguments.
func commandPath(n *kong.Node) string {
	for n.Type == kong.ArgumentNode {
		n = n.Parent
	}
	if n.Parent == nil {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

// command runs what the arguments name. Errors: *kong.ParseError for arguments that
// the role does not take.
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
