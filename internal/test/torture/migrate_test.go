package torture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/test/testproc"
)

// twoMigrations migrates a new database through two nodes at the same time, as two releases that start
// together do. The work must be done once, and both migrations must succeed.
func twoMigrations(s *site) {
	tries := 2
	if testing.Short() {
		tries = 1
	}
	failed := 0
	home := s.name
	for k := range tries {
		s.name = fmt.Sprintf("%s_migrated_%d", home, k)
		s.cluster.CreateDatabase(s.name)
		var running [apis]*testproc.Process
		for i := range running {
			running[i] = testproc.Start(s.t, testproc.Options{Env: s.env(i)}, "api", "migrate")
		}
		bad := false
		for i, p := range running {
			if status := p.Status(); status != 0 {
				bad = true
				s.t.Logf("migrate through node %d: exit status %d\n%.2000s", i+1, status, strings.TrimSpace(p.Out.String()))
			}
		}
		s.cluster.Settle()
		if bad {
			failed++
			continue
		}
		s.command("check")
	}
	s.name = home
	s.t.Logf("%d of %d times one of two migrations at once failed", failed, tries)
	s.wrong(failed, "of %d times one of two migrations at once failed", tries)
}
