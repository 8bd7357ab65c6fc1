package modeltest

// What the engine does not yet do as the documents say. The model does it the
// engine's way, or the generator leaves it out, while these are false.
const (
	// nestInUpdates: creates nested in the update of one asset.
	nestInUpdates = true
	// updatesHaveOrphans: what is nested in an update that fails, fails too.
	updatesHaveOrphans = true
	// onlyNet: a relation that a command takes away and gives back has not
	// changed, so it makes no version.
	onlyNet = true
	// projectionsReachDeleted: the projection of a command on deleted assets,
	// posted back, does what the command would have done.
	projectionsReachDeleted = false
	// requiredAtOnce: an update cannot empty a required attribute of what the
	// same request made. A sequence that tries ends there.
	requiredAtOnce = false
)
