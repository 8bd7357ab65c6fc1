package check

import "context"

// horizon is an SQL expression for a moment. Rows that ended at this moment or before may have been
// removed. The value is 0 if all history is kept.
const horizon = `COALESCE((SELECT value FROM sequence WHERE name = 'horizon'), 0)`

// kept returns the value of the expression horizon. The checks of versions, moments and audits
// apply only to rows that were still current after this moment. Earlier rows may exist or not.
func (c *checker) kept(ctx context.Context) (moment int64, err error) {
	err = c.each(ctx, func(scan row) error { return scan(&moment) }, `SELECT `+horizon)
	return moment, err
}
