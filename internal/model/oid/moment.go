package oid

// MomentZero is the required moment for assets whose moment must be 0, such as well-known assets.
// The required moment 0 has another meaning; see HasMoment.
const MomentZero int64 = -1

// HasMoment reports whether the moment of an asset is the required moment. A required moment of 0
// allows any moment.
func HasMoment(moment, required int64) bool {
	return required == 0 || required == moment || required == MomentZero && moment == 0
}
