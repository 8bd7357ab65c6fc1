package oid

// MomentZero is the required moment that stands for 0, which well-known assets have.
const MomentZero int64 = -1

// HasMoment reports whether the moment of an asset is the required moment. A required moment of 0
// allows any moment.
func HasMoment(moment, required int64) bool {
	return required == 0 || required == moment || required == MomentZero && moment == 0
}
