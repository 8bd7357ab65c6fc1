package check

import (
	"errors"
	"strings"
	"testing"
)

// Findings are mended in batches of so many bytes; a check that mends nothing holds no texts.
func TestFindingsAreBoundedByBytes(t *testing.T) {
	text := strings.Repeat("x", batchBytes/2)
	for _, mending := range []bool{true, false} {
		c := &checker{mending: mending, left: batch}
		for n := range 4 {
			c.mend("UPDATE asset SET name = ? WHERE id = ?", text, n)
			err := c.report("asset", int64(n), "wrong")
			if ended := errors.Is(err, errEnough); ended != (mending && n >= 2) {
				t.Errorf("mending is %v: after %d findings it ends: %v", mending, n+1, ended)
			}
		}
		if has := len(c.found[0].Mends()) > 0; has != mending {
			t.Errorf("mending is %v, and the findings have their texts: %v", mending, has)
		}
	}
}
