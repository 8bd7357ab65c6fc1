//go:build !unix

package db

import "time"

// processorTime returns the time since the start of this process. It stands for the processor
// time that the process has used.
func processorTime() time.Duration { return time.Since(started) }
