package rig

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Main is main of a bench: it runs until it is done or interrupted, and exits
// with 1 and the error on stderr where run fails. args are those of the command
// line without the program's name.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
