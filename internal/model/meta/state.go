package meta

// The asset states with a meaning in the code. Spec: interface 3.
const (
	StateActive  = 64
	StateClosed  = 128 // this and above: the asset is finished
	StateDead    = 200 // this and above: the asset stays finished
	StateDeleted = 255
)
