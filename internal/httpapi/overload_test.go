package httpapi

import (
	"testing"
	"time"
)

// TestRefusalLimiter checks that the first line of a second has the number of refusals that were
// not logged in the previous second.
func TestRefusalLimiter(t *testing.T) {
	var r refusalLimiter
	at := time.Unix(1_000_000, 0)
	for i := range refusalLines {
		if n, ok := r.next(at); !ok || n != 0 {
			t.Fatalf("the %dth: %d unlogged, %v", i+1, n, ok)
		}
	}
	for range 7 {
		if _, ok := r.next(at.Add(time.Second / 2)); ok {
			t.Fatal("more were logged")
		}
	}
	for _, want := range []int{7, 0} {
		if n, ok := r.next(at.Add(time.Second)); !ok || n != want {
			t.Errorf("in the next second: %d unlogged, %v; want %d", n, ok, want)
		}
	}
}
