package memory

import "slices"

// stretch is how many bytes are copied at a time.
const stretch = 256 << 10

// Append is append for what may be megabytes. What is copied at once is not interrupted:
// the garbage collector waits for it, and everybody for the garbage collector.
func Append(b, all []byte) []byte {
	b = slices.Grow(b, len(all))
	for part := range slices.Chunk(all, stretch) {
		b = append(b, part...)
	}
	return b
}
