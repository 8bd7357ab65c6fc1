package find

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/blob"
)

// content returns what appends the Base64 of contents to an answer, on top of base
// bytes; nil where references are shown. Its bytes count before they are read.
func (x *executor) content(ctx context.Context, base *int64) func([]byte, blob.Ref) ([]byte, error) {
	if x.f.References {
		return nil
	}
	return func(w []byte, ref blob.Ref) ([]byte, error) {
		n := ref.Base64Len() + 2 // its quotes
		size := *base + int64(len(w)) + n
		if err := x.check(ctx, size); err != nil {
			return w, err
		}
		held := &x.answer
		if x.out.flush != nil {
			held = &x.contents
		}
		if err := held.grow(size); err != nil {
			return w, err
		}
		return x.f.Contents.AppendBase64(ctx, x.q, ref, slices.Grow(w, int(n)))
	}
}
