package app

import "github.com/alds-dev/alds/internal/app/embedded"

// Standalone is the role of cmd/standalone.
var Standalone = StandaloneWith(embedded.Start)
