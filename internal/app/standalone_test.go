package app

import "github.com/alds-dev/alds/internal/app/embedded"

// Standalone is the same role as in cmd/standalone.
var Standalone = StandaloneWith(embedded.Start)
