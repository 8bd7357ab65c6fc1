//go:build !unix

package db

import "time"

// processorTime returns the time since the start of this process. It replaces the processor time of
// the process, which is known only on Unix.
func processorTime() time.Duration { return time.Since(started) }
