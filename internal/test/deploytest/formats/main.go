// Command formats reads files for those who deploy by the libraries of the programs
// that will read them, and ends with 1 where they would refuse.
//
//	formats compose ENV FILE      prints a compose file as compose understands it
//	formats kubernetes FILE...    reads manifests: no field that is not known, none twice
//
// It is a module of its own, so that alds does not need what a test of its files needs.
package main

import (
	"context"
	"fmt"
	"os"
)

func main() {
	err := fmt.Errorf("usage: formats compose ENV FILE, or formats kubernetes FILE")
	if len(os.Args) == 4 && os.Args[1] == "compose" {
		err = compose(context.Background(), os.Args[2], os.Args[3])
	}
	if len(os.Args) > 2 && os.Args[1] == "kubernetes" {
		err = kubernetes(os.Args[2:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
