package check

import "context"

// horizon is an SQL expression. Its value is the moment up to which ended rows may have been
// removed; 0: all history is kept.
const horizon = `COALESCE((SELECT value FROM sequence WHERE name = 'horizon'), 0)`

// kept returns the horizon. The checks of versions, moments and audits apply only to rows that
// were current after it. Earlier rows may exist or not.
func (c *checker) kept(ctx context.Context) (moment int64, err error) {
	err = c.each(ctx, func(scan row) error { return scan(&moment) }, `SELECT `+horizon)
	return moment, err
}
