// Command worker fans changes out to webhook subscriptions and delivers the events.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.Worker)) }
