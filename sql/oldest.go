package sql

import "github.com/alds-dev/alds/internal/base/release"

// RecordsOldest is the migration that gives schema_migration the column for the oldest
// release; the rows of later ones have it.
const RecordsOldest = 123

// First is the first release, and inFirst the last migration of it: no older release
// works with what it stores. Builds before it had the number 0.1.0, all of them: those
// before migration 135 read long texts, which it moved to asset_text, as empty.
const (
	First   = "0.2.0"
	inFirst = 153
)

// oldest names for each later migration the oldest release that works with it: whose
// processes may run before it, while it runs and behind it, and read and write all
// that the release of the migration stores. A migration that is not named works with
// no release before its own.
var oldest = map[int]string{}

// reads names for each later migration that changes tables or rows the first release that
// reads what is stored by it: where the migration moves data, or has it stored at another
// place or in another form, and be it by the next write, the release that first looks
// there. The oldest release that works with it is none before that.
var reads = map[int]string{}

// oldestOf returns the oldest release that works with a migration.
func oldestOf(version int) string {
	switch named, ok := oldest[version]; {
	case ok:
		return named
	case version <= inFirst:
		return First
	}
	return release.Number
}
