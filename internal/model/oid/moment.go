package oid

// MomentZero requires of an asset the moment 0, which well-known assets have.
const MomentZero int64 = -1

// HasMoment reports whether an asset of a moment has the one that is required: 0 is any.
func HasMoment(moment, required int64) bool {
	return required == 0 || required == moment || required == MomentZero && moment == 0
}
