package testdb

import (
	"sync"
	"testing"
)

// TestPortsDiffer checks that ports that are chosen at the same time differ, although nothing uses them
// yet.
func TestPortsDiffer(t *testing.T) {
	var seen sync.Map
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			port, err := FreePort()
			if _, again := seen.LoadOrStore(port, true); again || err != nil {
				t.Errorf("port %s again: %t, %v", port, again, err)
			}
		})
	}
	all.Wait()
}
