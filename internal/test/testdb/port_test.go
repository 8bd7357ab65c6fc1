package testdb

import (
	"sync"
	"testing"
)

// TestPortsDiffer checks that choices at the same moment differ, although nobody uses the ports yet.
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
