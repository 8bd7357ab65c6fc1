// Command api serves the HTTP interface, and has the commands that `api --help` lists.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.API)) }
