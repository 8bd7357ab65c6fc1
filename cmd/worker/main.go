// Command worker fans changes out to webhook subscriptions and delivers the events.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
	"github.com/alds-dev/alds/internal/app/command"
)

func main() { os.Exit(command.Main(app.Worker)) }
