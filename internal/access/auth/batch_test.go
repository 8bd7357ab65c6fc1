package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// reads records the reads of a batch.
type reads struct {
	mu   sync.Mutex
	keys [][]int    // the keys of each read
	next chan error // ends a read with an error or nil
}

func (r *reads) read(_ context.Context, keys []int) (map[int]string, error) {
	r.mu.Lock()
	r.keys = append(r.keys, slices.Sorted(slices.Values(keys)))
	r.mu.Unlock()
	err := <-r.next
	found := map[int]string{}
	for _, k := range keys {
		if k >= 0 {
			found[k] = fmt.Sprint("value ", k)
		}
	}
	return found, err
}

// TestReadsGoTogether checks that all keys that arrive during a read are read by the next read. A
// caller never gets a value from a read that began before its call.
func TestReadsGoTogether(t *testing.T) {
	r := &reads{next: make(chan error)}
	b := &batch[int, string]{read: r.read}
	var wg sync.WaitGroup
	ask := func(ctx context.Context, k int, want string, kind fault.Kind) {
		s := make(chan struct{})
		wg.Go(func() {
			close(s)
			if v, err := b.do(ctx, k); v != want || err != nil && fault.KindOf(err) != kind || err == nil && kind != fault.Internal {
				t.Errorf("%d: %q, %v", k, v, err)
			}
		})
		<-s
	}
	waiting := func(n int) {
		for waits := -1; waits != n; {
			b.mu.Lock()
			if waits = 0; b.next != nil {
				waits = len(b.next.keys)
			}
			b.mu.Unlock()
		}
	}
	running := func(n int) {
		for reads := 0; reads != n; {
			r.mu.Lock()
			reads = len(r.keys)
			r.mu.Unlock()
		}
	}
	ask(t.Context(), 1, "value 1", fault.Internal)
	running(1)
	gone, leave := context.WithCancel(t.Context())
	ask(t.Context(), 1, "value 1", fault.Internal) // is read again: the running read began before this call
	ask(t.Context(), 2, "value 2", fault.Internal)
	ask(t.Context(), -3, "", fault.NotFound)
	ask(gone, 4, "", fault.Transient)
	waiting(4)
	leave()
	r.next <- nil
	running(2)
	ask(t.Context(), 5, "", fault.Transient)
	waiting(1)
	r.next <- nil
	running(3)
	r.next <- fault.Transientf(errors.New("gone"), "the database is away")
	wg.Wait()
	if want := [][]int{{1}, {-3, 1, 2, 4}, {5}}; fmt.Sprint(r.keys) != fmt.Sprint(want) {
		t.Errorf("read %v, want %v", r.keys, want)
	}
	ask(t.Context(), 6, "value 6", fault.Internal)
	r.next <- nil
	wg.Wait()
}
