package memory

import "slices"

// stretch is the number of bytes that are copied at a time.
const stretch = 256 << 10

// Append does the same as the built-in append, for megabytes of data. It copies the data in parts,
// because a copy cannot be interrupted. The garbage collector would have to wait until one large
// copy ends, and all other goroutines would have to wait for the garbage collector.
func Append(b, all []byte) []byte {
	b = slices.Grow(b, len(all))
	for part := range slices.Chunk(all, stretch) {
		b = append(b, part...)
	}
	return b
}
