// Command scheduler does the periodic work. Two of them running at once do no harm.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.Scheduler)) }
