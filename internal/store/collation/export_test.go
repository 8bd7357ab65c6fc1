package collation

// Weight returns the weights of a character.
func Weight(r rune) []uint16 {
	var buf [2]uint16
	return append([]uint16(nil), weightTable().of(r, &buf)...)
}
