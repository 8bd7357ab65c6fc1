// Command api serves the HTTP interface. `api migrate` brings the schema up to date,
// `api token create|list|revoke` makes, lists and ends access tokens.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.API)) }
