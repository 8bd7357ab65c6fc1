package db

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// What a TiDB takes otherwise than MySQL and MariaDB. All of it works on a MariaDB that
// only says that it is a TiDB, so tests run it there.

// learn asks the server whether it is a TiDB, a MariaDB or a MySQL: the version of the
// first is 8.0.11-TiDB-v8.5.0.
func (d *DB) learn(ctx context.Context) error {
	var version string
	if err := d.writer.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return Fault(err)
	}
	is := strings.Contains(version, "-TiDB-")
	d.tidb.Store(is)
	d.Dialect.Unfolds, d.Dialect.QueriesInON = !is, !is // it has no JSON_TABLE
	d.Dialect.TestsInON = !is && !strings.Contains(version, "MariaDB")
	return nil
}

// spread are the tables whose keys only grow and that are seldom read by them. A TiDB
// keeps rows by their key, so all new ones would come into one region: it gives them
// places by chance. The key itself still grows.
var spread = []string{"`audit`", "`moment_stamp`"}

// Comments to all other servers.
const (
	unclustered = " /*T![clustered_index] NONCLUSTERED */"
	sharded     = " /*T! SHARD_ROW_ID_BITS=4 PRE_SPLIT_REGIONS=3 */"
)

var (
	primaryKey = regexp.MustCompile(`PRIMARY KEY \([^)]*\)`)
	ofKeys     = regexp.MustCompile(`,\s+(ADD|DROP) KEY `)
)

// asTiDB returns a migration in the form for a TiDB. It holds every change of an ALTER
// TABLE against the table as it is before all of them, and refuses the key of a column
// that the same statement adds: so changes of keys are statements of their own.
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
