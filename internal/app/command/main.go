package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/alds-dev/alds/internal/access/trail"
	"github.com/alds-dev/alds/internal/app"
)

// Main runs the role, or the command in the arguments, and returns the exit status. On SIGTERM or
// SIGINT, the role or command stops in order. A second signal ends the process at once.
func Main(role app.Role) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		names = append(names, name)
	}
	return execute(ctx, os.Args[1:], outside{app.Environment{Getenv: os.Getenv, Names: names, Stderr: os.Stderr}, os.Stdin, os.Stdout}, role)
}

// outside has the environment variables and standard streams of a process. Tests replace them.
type outside struct {
	app.Environment
	stdin  io.Reader
	stdout io.Writer
}

// execute runs the command in the arguments, or the role if there are none. It returns the
// exit status: 0 for success, 2 for wrong arguments, 3 for errStop, 1 for any other error.
func execute(ctx context.Context, args []string, o outside, role app.Role) int {
	err := run(ctx, args, o, role)
	if err == nil {
		return 0
	}
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		node := wrong.Context.Model.Node
		if selected := wrong.Context.Selected(); selected != nil {
			node = selected
		}
		fmt.Fprintf(o.Stderr, "alds: %v; see `%s --help`\n", err, commandPath(node))
		return 2
	}
	fmt.Fprintf(o.Stderr, "alds: %v\n", err)
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

// run runs the command in the arguments, or the role if there are none.
// Errors: *kong.ParseError for wrong arguments; errors of the command or the role.
func run(ctx context.Context, args []string, o outside, role app.Role) error {
	if len(args) == 0 {
		return app.Run(ctx, o.Environment, role)
	}
	chosen, err := parse(args, o, role)
	if err != nil || chosen == nil {
		return err
	}
	chosen.BindTo(trail.With(ctx, trail.Origin{Address: trail.CommandLine}), (*context.Context)(nil))
	return chosen.Run(o, role)
}

// withInstallation opens the database and calls do.
func withInstallation(ctx context.Context, o outside, role app.Role, do func(*app.Installation) error) error {
	i, err := app.Open(ctx, o.Environment, role)
	if err != nil {
		return err
	}
	defer i.Close()
	return do(i)
}

// withDatabase opens the database and calls do if the schema is current.
func withDatabase(ctx context.Context, o outside, role app.Role, do func(*app.Installation) error) error {
	return withInstallation(ctx, o, role, func(i *app.Installation) error {
		if err := i.Ready(ctx); err != nil {
			return err
		}
		return do(i)
	})
}
