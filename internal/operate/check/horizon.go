package check

import "context"

// horizon is a scalar of SQL: the moment up to which what has ended may be gone; 0 where
// all history is kept.
const horizon = `COALESCE((SELECT value FROM sequence WHERE name = 'horizon'), 0)`

// kept returns that moment. What is expected of versions, moments and audits is expected
// of those that held behind it; what is from before is there by chance, or because
// something still looks at it.
func (c *checker) kept(ctx context.Context) (moment int64, err error) {
	err = c.each(ctx, func(scan row) error { return scan(&moment) }, `SELECT `+horizon)
	return moment, err
}
