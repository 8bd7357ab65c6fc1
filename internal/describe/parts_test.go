package describe

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"
)

// TestTheNextModelIsDescribedFromTheLast: whatever was described before, a model
// has the description that it has alone; parts that are the same are compressed once.
func TestTheNextModelIsDescribedFromTheLast(t *testing.T) {
	const base = "/alds/meta.v1"
	docs := New(grown(t, 0), "1.2.3.4")
	docs.Model(base)
	for _, custom := range []int{1, 2, 40, 0} { // from the second to the third 38 at once
		before := docs.parts.of(base).flat
		docs = docs.With(grown(t, custom))
		next, alone := docs.Model(base), New(grown(t, custom), "1.2.3.4").Model(base)
		if next.Tag != alone.Tag || !bytes.Equal(next.JSON, alone.JSON) || !bytes.Equal(next.Gzip, alone.Gzip) {
			t.Errorf("with %d attributes it is another document after others", custom)
		}
		z, err := gzip.NewReader(bytes.NewReader(next.Gzip))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked, err := io.ReadAll(z); err != nil || !bytes.Equal(unpacked, next.JSON) {
			t.Errorf("with %d attributes: %d bytes compressed, %d not, %v", custom, len(unpacked), len(next.JSON), err)
		}
		same := 0
		for name, flat := range docs.parts.of(base).flat {
			if was := before[name]; was != nil && &was[0] == &flat[0] {
				same++
			}
		}
		if same < len(before)/2 {
			t.Errorf("with %d attributes %d of %d parts are still used", custom, same, len(before))
		}
	}
}
