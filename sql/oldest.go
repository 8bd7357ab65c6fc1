package sql

import "github.com/alds-dev/alds/internal/base/release"

// RecordsOldest is the migration that adds the column for the oldest release to schema_migration.
// The rows of later migrations have a value in this column.
const RecordsOldest = 123

// First is the number of the first release, and inFirst is the number of its last migration. Older
// builds do not work with the data of this release. All older builds have the number 0.1.0. For
// example, builds before migration 135 read long texts as empty, because that migration moved these
// texts to asset_text.
const (
	First   = "0.2.0"
	inFirst = 164
)

// oldest maps the number of a migration after inFirst to the oldest release that works with the
// migration. The processes of that release may run before, during and after the migration. They can
// read and write all data that the release of the migration stores. A migration without an entry
// works only with its own release and later releases.
var oldest = map[int]string{}

// reads maps the number of a migration after inFirst to the first release that can read the data of
// the migration. Migrations that change tables or existing rows have an entry. Such a migration may
// move data to another place or change its form, or later writes may do so. Then the entry is the
// first release that reads the new place or form. The entry in oldest must not be an earlier
// release.
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
