package find

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/store/blob"
)

// content returns a function that appends the Base64 of contents to an answer; nil if
// references are shown. base is the size of what was written before, in bytes. The bytes of a
// content are counted before it is read.
func (x *executor) content(ctx context.Context, base *int64) func([]byte, blob.Ref) ([]byte, error) {
	if x.f.References {
		return nil
	}
	return func(w []byte, ref blob.Ref) ([]byte, error) {
		n := ref.Base64Len() + 2 // with two quotes
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
