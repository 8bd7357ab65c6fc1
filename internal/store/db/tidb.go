package db

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Differences of TiDB from MySQL and MariaDB. All of this works on a MariaDB that reports the
// version of a TiDB, so tests run it there.

// learn finds out whether the server is a TiDB, a MariaDB or a MySQL. The version of a TiDB
// looks like 8.0.11-TiDB-v8.5.0.
func (d *DB) learn(ctx context.Context) error {
	var version string
	if err := d.writer.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return sqlerror.Fault(err)
	}
	is := strings.Contains(version, "-TiDB-")
	d.tidb.Store(is)
	d.Dialect.Unfolds, d.Dialect.QueriesInON = !is, !is // a TiDB has no JSON_TABLE
	d.Dialect.TestsInON = !is && !strings.Contains(version, "MariaDB")
	return nil
}

// spread are tables with growing keys that are seldom read by key. TiDB stores rows in key
// order, so all new rows would go into one region. With these options it spreads the rows;
// the key itself still grows.
var spread = []string{"`audit`", "`moment_stamp`"}

// TiDB's options, which are comments for all other servers.
const (
	unclustered = " /*T![clustered_index] NONCLUSTERED */"
	sharded     = " /*T! SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=3 */"
)

var (
	primaryKey = regexp.MustCompile(`PRIMARY KEY \([^)]*\)`)
	ofKeys     = regexp.MustCompile(`,\s+(ADD|DROP) KEY `)
)

// asTiDB returns the statements of a migration for a TiDB. TiDB checks every change of an
// ALTER TABLE against the table before the statement. So it refuses a key on a column that
// the same statement adds. Therefore changes of keys become separate statements.
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
