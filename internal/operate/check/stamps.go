package check

import "context"

// stamp is the range of moments that the next row of moment_stamp must cover.
type stamp struct {
	moments []dated // moments of versions after the previous row; of consecutive moments with the same instant, only the last
	before  dated   // last moment and instant of the previous row of moment_stamp
}

// dated is a moment with its instant in UTC microseconds. id is the asset that has a version at the
// moment. For a row of moment_stamp, id is 0.
type dated struct{ id, moment, at int64 }

// stamps expects that a row of moment_stamp covers every moment of a version. Such a row has the
// last moment of a range of moments, and the instant of this range. Later rows must not have
// earlier instants. Each version in the range must have changed at this instant. The first version
// of an imported asset is an exception.
func (c *checker) stamps(ctx context.Context) error {
	var s stamp
	err := c.eachIn(ctx, byMoment, func(scan row) error {
		var d dated
		var isStamp bool
		if err := scan(&d.moment, &isStamp, &d.at, &d.id); err != nil {
			return err
		}
		if !isStamp {
			if n := len(s.moments) - 1; n >= 0 && s.moments[n].at == d.at {
				s.moments[n] = d
			} else {
				s.moments = append(s.moments, d)
			}
			return nil
		}
		err := c.stamp(s, d)
		s = stamp{before: d}
		return err
	}, `SELECT v.moment AS m, 0 AS stamp, v.changed_at, v.id FROM asset_version v LEFT JOIN audit a ON a.id = v.audit_id`+
		` WHERE {v.moment} AND v.moment > `+horizon+` AND NOT (COALESCE(a.imported, 0) = 1 AND v.moment = v.created_moment)`+
		` UNION ALL SELECT last_moment, 1, at, 0 FROM moment_stamp WHERE {last_moment} ORDER BY m, stamp`)
	if err != nil {
		return err
	}
	for _, d := range s.moments {
		c.mend(`INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, d.moment, d.at)
		if err := c.report("asset_version", d.id, "no stamp covers moment %d", d.moment); err != nil {
			return err
		}
	}
	return nil
}

// stamp checks one row of moment_stamp. d has the last moment and the instant of the row.
func (c *checker) stamp(s stamp, d dated) error {
	const table = "moment_stamp"
	for _, m := range s.moments {
		switch {
		case m.at == d.at:
			continue
		case m.moment == d.moment:
			if m.at >= s.before.at {
				c.mend(`UPDATE moment_stamp SET at = ? WHERE last_moment = ?`, m.at, d.moment)
			}
			return c.report(table, d.moment, "its instant is %d, but that of its version is %d", d.at, m.at)
		}
		if m.at >= s.before.at {
			c.mend(`INSERT INTO moment_stamp (last_moment, at) VALUES (?, ?)`, m.moment, m.at)
		}
		err := c.report(table, d.moment, "it covers moment %d, but the instant of that version is %d", m.moment, m.at)
		if err != nil {
			return err
		}
	}
	if d.at >= s.before.at {
		return nil
	}
	if len(s.moments) == 0 {
		c.mend(`DELETE FROM moment_stamp WHERE last_moment = ?`, d.moment)
	}
	return c.report(table, d.moment, "its instant is before that of moment %d", s.before.moment)
}
