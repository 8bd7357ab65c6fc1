// Command standalone runs alds in one process, with a SQLite file and an embedded queue.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/command"
	"github.com/alds-dev/alds/internal/app/embedded"
)

func main() { os.Exit(command.Main(app.StandaloneWith(embedded.Start))) }
