package rig

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Main is the main function of a bench. It calls run with the command-line arguments, without
// the name of the program. An interrupt cancels the context. If run fails, Main prints the
// error on stderr and exits with 1.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
