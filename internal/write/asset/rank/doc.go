// Package rank places assets in the order of their rank space. A rank space is a set of types
// whose assets are ranked together. A rank is a whole number from 1 to Max, which clients store
// in a signed 32-bit integer.
//
// A new asset gets a rank after all others, from the sequence of its rank space (Nth). An asset
// that is ranked relative to another asset gets a number between the ranks of the sequence:
//
//	space, err := rank.Read(ctx, tx, rank.Of{ID: id, Type: t, Types: types, Column: column})
//	place, err := space.Place(ctx, own, at, after)
//
// If there is no number between two ranks, the neighbours on one side get new ranks, too.
//
// The package only reads. The caller first locks the rank space, and later writes the ranks.
package rank
