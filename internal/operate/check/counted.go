package check

import (
	"context"
	"database/sql"
)

// maxCounted is the greatest value of asset_version.linked.
const maxCounted = 1<<15 - 1

// window is the number of moments (numbers of versions) whose links are counted in one pass. Each
// moment needs 4 bytes of memory.
const window = 1 << 24

// counted checks the column linked of versions. The column counts the links and values that begin
// or end with the version. It is n+1 if there are n of them, and 0 if there are none. The value 1
// means that the number is unknown. It occurs in versions of earlier releases, in versions of
// well-known assets, in versions with more links than the column can count, and after a custom
// attribute was removed.
func (c *checker) counted(ctx context.Context) error {
	for behind := int64(0); ; { // well-known assets have moment 0 and are not checked
		var first, last sql.NullInt64
		err := c.each(ctx, func(scan row) error { return scan(&first, &last) },
			`SELECT MIN(moment), MAX(moment) FROM asset_version WHERE moment > ?`, behind)
		if err != nil || !first.Valid {
			return err
		}
		behind = first.Int64 - 1
		ends := make([]int32, min(window, last.Int64-behind)) // counts of the moments behind+1, behind+2, …
		for _, e := range [...]edges{links, values} {
			if err := c.countEnds(ctx, e, behind, ends); err != nil {
				return err
			}
		}
		if err := c.compareCounts(ctx, behind, ends); err != nil {
			return err
		}
		behind += int64(len(ends))
	}
}

// countEnds counts the links or values that begin or end at each moment after the moment behind,
// and adds the counts to ends.
func (c *checker) countEnds(ctx context.Context, e edges, behind int64, ends []int32) error {
	return c.eachEdge(ctx, e, func(scan row) error {
		var since, until int64
		err := scan(&since, &until)
		for _, at := range [...]int64{since - behind - 1, until - behind - 1} {
			if at >= 0 && at < int64(len(ends)) {
				ends[at]++
			}
		}
		return err
	}, `SELECT since_moment, until_moment FROM `+e.table+` WHERE {from_id} AND `+e.column+` = ? AND from_type = ?`)
}

// compareCounts compares ends with the column linked of the versions at these moments. It does not
// report links and values that begin or end without a version; the checks "links" and "values"
// report them.
func (c *checker) compareCounts(ctx context.Context, behind int64, ends []int32) error {
	return c.eachIn(ctx, byVersion, func(scan row) error {
		var id, moment, linked int64
		if err := scan(&id, &moment, &linked); err != nil {
			return err
		}
		n := int64(ends[moment-behind-1])
		switch {
		case linked == 0 && n > 0:
			c.mend(`UPDATE asset_version SET linked = ? WHERE id = ? AND moment = ?`, linkedFor(n), id, moment)
			return c.report("asset_version", id,
				"moment %d: %d links or values begin or end with this version, but it counts none", moment, n)
		case linked > 1 && n != linked-1:
			return c.report("asset_version", id,
				"moment %d: this version counts %d links or values that begin or end with it, but there are %d",
				moment, linked-1, n)
		}
		return nil
	}, `SELECT id, moment, linked FROM asset_version WHERE {id} AND moment > ? AND moment <= ? ORDER BY id, moment`,
		behind, behind+int64(len(ends)))
}

// linkedFor returns the value of the column linked for n links and values.
func linkedFor(n int64) int64 {
	if n+1 > maxCounted {
		return 1 // the number is unknown
	}
	return n + 1
}
