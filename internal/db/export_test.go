package db

import schema "github.com/alds-dev/alds/sql"

// Steps lets a test change the migrations a handle knows.
func (d *DB) Steps() *[]schema.Migration { return &d.steps }

// Weight returns the weights of a character.
func Weight(r rune) []uint16 {
	var buf [2]uint16
	return append([]uint16(nil), weightTable().of(r, &buf)...)
}
