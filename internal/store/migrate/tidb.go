package migrate

import (
	"regexp"
	"slices"
	"strings"
)

// spread lists the tables whose keys grow, and that are seldom read by key. TiDB stores rows in the
// order of the key, so all new rows would go into one region. With the two options below, TiDB
// spreads the rows over several regions. The index of the key still grows only at its end.
var spread = []string{"`audit`", "`moment_stamp`"}

// Options of TiDB. All other servers read them as comments.
const (
	unclustered = " /*T![clustered_index] NONCLUSTERED */"
	sharded     = " /*T! SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=3 */"
)

var (
	primaryKey = regexp.MustCompile(`PRIMARY KEY \([^)]*\)`)
	ofKeys     = regexp.MustCompile(`,\s+(ADD|DROP) KEY `)
)

// asTiDB returns the statements of a migration for a TiDB. TiDB checks every change of an ALTER
// TABLE against the table before the statement. So it refuses an index on a column that the same
// statement adds. Therefore asTiDB makes each change of an index a separate statement.
func asTiDB(text string) []string {
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "CREATE TABLE IF NOT EXISTS ") && slices.Contains(spread, words[5]):
		return []string{primaryKey.ReplaceAllString(text, "$0"+unclustered) + sharded}
	case strings.HasPrefix(text, "ALTER TABLE "):
		return strings.Split(ofKeys.ReplaceAllString(text, "\x00ALTER TABLE "+words[2]+" $1 KEY "), "\x00")
	}
	return []string{text}
}
