// Command scheduler does the periodic work. Two schedulers may run at once.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/command"
)

func main() { os.Exit(command.Main(app.Scheduler)) }
