package fault

import (
	"errors"
	"strings"
	"testing"
	"time"
)

type named string

func (n named) String() string { return string(n) }

// TestLongTexts checks that a message repeats only the beginning of a long text, for any type
// of argument.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("ä>", 20<<20)
	for _, err := range []error{
		Invalidf(3, "%s and %q", long, long), Deniedf("%s", errors.New(long)), NotFoundf("%v", named(long)),
	} {
		if n := len(Public(err)); n < maxShown || n > 3*maxShown {
			t.Errorf("a message of %d bytes: %.40s", n, Public(err))
		}
	}
	if got := Public(Invalidf(NoPlace, "%d %s %s %v", 7, "seven", named("VII"), 7*time.Second)); got != "7 seven VII 7s" {
		t.Errorf("short texts: %s", got)
	}
}
