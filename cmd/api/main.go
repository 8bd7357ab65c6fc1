// Command api serves the HTTP interface, and has the commands that `api --help` lists.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/command"
)

func main() { os.Exit(command.Main(app.API)) }
