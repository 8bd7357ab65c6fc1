package check

import (
	"context"
	"database/sql"
)

// maxCounted is the greatest value of the column linked of a version.
const maxCounted = 1<<15 - 1

// counted expects as many links and values to begin or end with a version as it says in
// linked: 0 for none, n+1 for n. 1 says that there are some, and not how many: so it is
// with versions of earlier releases, with those of well-known assets, and where a custom
// attribute was removed.
func (c *checker) counted(ctx context.Context) error {
	return c.each(ctx, func(scan row) error {
		var id sql.NullInt64
		var moment, linked, n int64
		if err := scan(&moment, &id, &linked, &n); err != nil {
			return err
		}
		if !id.Valid {
			return nil // links reports it
		}
		if linked == 0 {
			c.mend(`UPDATE asset_version SET linked = ? WHERE id = ? AND moment = ?`, min(n+1, maxCounted), id.Int64, moment)
			return c.report("asset_version", id.Int64, "moment %d: %d links or values begin or end with it, which it does not say", moment, n)
		}
		return c.report("asset_version", id.Int64, "moment %d: %d links or values begin or end with it, and %d are there", moment, linked-1, n)
	}, `SELECT e.m, v.id, e.said, e.n FROM (SELECT m, COALESCE(MAX(linked), 0) AS said, SUM(n) AS n FROM (`+
		`SELECT moment AS m, linked, 0 AS n FROM asset_version WHERE moment > 0 AND linked > 0`+
		` UNION ALL SELECT since_moment, NULL, 1 FROM asset_link WHERE since_moment > 0`+
		` UNION ALL SELECT until_moment, NULL, 1 FROM asset_link WHERE until_moment < ?`+
		` UNION ALL SELECT since_moment, NULL, 1 FROM asset_value WHERE since_moment > 0`+
		` UNION ALL SELECT until_moment, NULL, 1 FROM asset_value WHERE until_moment < ?`+
		`) r GROUP BY m HAVING MAX(linked) IS NULL OR MAX(linked) > 1 AND SUM(n) <> MAX(linked) - 1) e`+
		` LEFT JOIN asset_version v ON v.moment = e.m ORDER BY e.m`, forever, forever)
}
