package meta

// The asset states with a meaning in the code. Spec: docs/interface.md, section 3.
const (
	StateActive  = 64
	StateClosed  = 128 // an asset with this or a higher state is finished
	StateDead    = 200 // an asset with this or a higher state stays finished
	StateDeleted = 255
)
