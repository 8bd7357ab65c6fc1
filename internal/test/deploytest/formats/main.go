// Command formats parses deployment files with the libraries of the programs that read them. It exits with
// 1 if such a program would refuse a file.
//
//	formats compose ENV FILE      prints a compose file as compose understands it
//	formats kubernetes FILE...    reads manifests and refuses unknown and duplicate fields
//
// It is a separate module, so that alds does not depend on these libraries.
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
