package rig

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Main is the main function of a bench. It runs until it is done or interrupted. If run fails,
// it prints the error on stderr and exits with 1. args are the command-line arguments without
// the program's name.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
