package memory

import "slices"

// stretch is the number of bytes that are copied at a time.
const stretch = 256 << 10

// Append is append for megabytes of data. A single copy cannot be interrupted: the garbage
// collector would wait for it, and all other goroutines for the garbage collector.
func Append(b, all []byte) []byte {
	b = slices.Grow(b, len(all))
	for part := range slices.Chunk(all, stretch) {
		b = append(b, part...)
	}
	return b
}
