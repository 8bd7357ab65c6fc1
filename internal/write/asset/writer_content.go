package asset

import (
	"context"
	"fmt"

	"github.com/alds-dev/alds/internal/store/blob"
)

// contents stores the contents to which the versions of the batch refer. Contents that are
// already stored are marked to be kept permanently.
func (w *writer) contents(ctx context.Context) error {
	if len(w.changes.contents) == 0 {
		return nil
	}
	var stored []blob.Ref
	fresh := map[blob.Ref][]byte{}
	for _, c := range w.changes.contents {
		if c.bytes == nil {
			stored = append(stored, c.ref)
		} else {
			fresh[c.ref] = c.bytes
		}
	}
	store := w.s.e.Contents
	if err := store.KeepAll(ctx, w.tx, fresh); err != nil {
		return fmt.Errorf("store contents: %w", err)
	}
	return store.Keep(ctx, w.tx, stored)
}
