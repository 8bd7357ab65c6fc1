package sql

import "github.com/alds-dev/alds/internal/release"

// RecordsOldest is the migration that gives schema_migration the column for the oldest
// release; the rows of later ones have it.
const RecordsOldest = 123

// inFirst are the migrations up to this one: of the first release, which has no older
// one to work with.
const inFirst = 122

// oldest names for each later migration the oldest release that works with it: whose
// processes may run before it, while it runs and behind it, and read and write all
// that the release of the migration stores. A migration that is not named works with
// no release before its own.
var oldest = map[int]string{
	RecordsOldest: "0.1.0",
	124:           "0.1.0",
	125:           "0.1.0",
	126:           "0.1.0",
	127:           "0.1.0",
	128:           "0.1.0",
	129:           "0.1.0",
	130:           "0.1.0",
	131:           "0.1.0",
	132:           "0.1.0",
	133:           "0.1.0",
	135:           "0.1.0",
	136:           "0.1.0",
	137:           "0.1.0",
	150:           "0.1.0",
}

// oldestOf returns the oldest release that works with a migration.
func oldestOf(version int) string {
	switch named, ok := oldest[version]; {
	case ok:
		return named
	case version <= inFirst:
		return "0.1.0"
	}
	return release.Number
}
