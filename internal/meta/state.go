package meta

// The asset states that code knows by number. Spec: interface 3.
const (
	StateActive  = 64
	StateClosed  = 128 // this and above: nobody works on the asset
	StateDead    = 200 // this and above: nobody will
	StateDeleted = 255
)
