// Command scheduler does the periodic work. Two schedulers may run at once.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.Scheduler)) }
