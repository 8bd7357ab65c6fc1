package check

import (
	"errors"
	"strings"
	"testing"
)

// TestFindingsAreBoundedByBytes checks that a batch of a repair ends when its texts exceed
// batchBytes. A check outside a repair stores no statements, so this limit does not apply to it.
func TestFindingsAreBoundedByBytes(t *testing.T) {
	text := strings.Repeat("x", batchBytes/2)
	for _, mending := range []bool{true, false} {
		c := &checker{mending: mending, left: batch}
		for n := range 4 {
			c.mend("UPDATE asset SET name = ? WHERE id = ?", text, n)
			err := c.report("asset", int64(n), "wrong")
			if ended := errors.Is(err, errEnough); ended != (mending && n >= 2) {
				t.Errorf("in a repair: %v; the check ends after %d findings: %v", mending, n+1, ended)
			}
		}
		if has := len(c.found[0].Mends()) > 0; has != mending {
			t.Errorf("in a repair: %v; the findings have statements: %v", mending, has)
		}
	}
}
