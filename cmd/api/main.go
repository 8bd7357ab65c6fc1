// Command api serves the HTTP interface. `api migrate` brings the schema up to date,
// `api token create` makes an access token.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.API)) }
