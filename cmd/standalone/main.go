// Command standalone runs alds in one process, on a SQLite file and an embedded queue.
package main

import (
	"os"

	"github.com/alds-dev/alds/internal/app"
)

func main() { os.Exit(app.Main(app.Standalone)) }
