package describe

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
)

// TestTheNextModelIsDescribedFromTheLast checks that the description of a model does not depend on
// the models that were described before. Parts that are equal are compressed once.
func TestTheNextModelIsDescribedFromTheLast(t *testing.T) {
	for name, f := range formats {
		t.Run(name, func(t *testing.T) {
			in := form{"/alds/meta.v1", f}
			docs := New(grown(t, 0), "1.2.3.4")
			docs.Model(in.base, f)
			for _, custom := range []int{1, 2, 40, 0} { // numbers of custom attributes, one far from the others
				before := docs.parts.of(in).flat
				docs = docs.With(grown(t, custom))
				next, alone := docs.Model(in.base, f), New(grown(t, custom), "1.2.3.4").Model(in.base, f)
				if next.Tag != alone.Tag || !bytes.Equal(next.Body, alone.Body) || !bytes.Equal(next.Gzip, alone.Gzip) {
					t.Errorf("with %d attributes it is another document after others", custom)
				}
				checkUnpacked(t, next)
				after := docs.parts.of(in).flat
				if same := shared(before, after); same < len(before)/2 {
					t.Errorf("with %d attributes %d of %d parts are still used", custom, same, len(before))
				}
			}
		})
	}
}

// TestFormatsKeepTheirOwnParts checks that a description in one format does not replace the parts
// of the other format.
func TestFormatsKeepTheirOwnParts(t *testing.T) {
	const base = "/alds/meta.v1"
	docs := New(grown(t, 0), "1.2.3.4")
	docs.Model(base, document.JSON)
	kept := docs.parts.of(form{base, document.JSON}).flat
	docs.Model(base, document.XML)
	if same := shared(kept, docs.parts.of(form{base, document.JSON}).flat); same != len(kept) {
		t.Errorf("%d of %d parts are left", same, len(kept))
	}
}

// shared counts the parts that were compressed once for both descriptions.
func shared(before, after map[sum][]byte) (n int) {
	for name, flat := range after {
		if was := before[name]; was != nil && &was[0] == &flat[0] {
			n++
		}
	}
	return n
}

// checkUnpacked checks that the compressed document equals the uncompressed one.
func checkUnpacked(t *testing.T, d Document) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(d.Gzip))
	if err != nil {
		t.Fatal(err)
	}
	if unpacked, err := io.ReadAll(z); err != nil || !bytes.Equal(unpacked, d.Body) {
		t.Errorf("%d bytes compressed, %d not, %v", len(unpacked), len(d.Body), err)
	}
}
