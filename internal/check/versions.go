package check

import (
	"bytes"
	"context"
	"database/sql"
	"strings"
)

// fixed are the columns of every asset, whatever its type.
var fixed = []string{
	"id", "type", "state", "moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at", "changed_by",
}

// columns are all columns that asset and asset_version share.
func (c *checker) columns() []string {
	all := append([]string(nil), fixed...)
	for _, col := range c.all {
		all = append(all, col.Name)
	}
	return append(all, "attrs", "folded")
}

func prefixed(prefix string, columns []string) string {
	return prefix + strings.Join(columns, ", "+prefix)
}

// current compares every asset with the version of its moment, column by
// column, and expects that version to be the current one.
func (c *checker) current(ctx context.Context) error {
	columns := c.columns()
	n := len(columns)
	values, into := make([]sql.RawBytes, 2*n), make([]any, 2*n)
	var id int64
	into[0] = &id
	for i := range values[1:] {
		into[i+1] = &values[i+1]
	}
	var until sql.NullInt64
	into[2*n-1] = &until
	return c.each(ctx, func(scan row) error {
		if err := scan(into...); err != nil {
			return err
		}
		if !until.Valid {
			return c.report("asset", id, "it has no version of its moment %s", values[3])
		}
		if until.Int64 != forever {
			return c.report("asset", id, "the version of its moment %s is not the current one, it ended at %d", values[3], until.Int64)
		}
		for i := 1; i < n; i++ {
			a, v := values[i], values[n+i-1]
			if (a == nil) != (v == nil) || !bytes.Equal(a, v) {
				if err := c.report("asset", id, "%s is %.60q, in its current version %.60q", columns[i], a, v); err != nil {
					return err
				}
			}
		}
		return nil
	}, `SELECT `+prefixed("a.", columns)+`, `+prefixed("v.", columns[1:])+`, v.until_moment FROM asset a`+
		` LEFT JOIN asset_version v ON v.id = a.id AND v.moment = a.moment`)
}

// version is what versions compares of a row of asset_version.
type version struct {
	id, moment, until                   int64
	code, state                         int
	createdMoment, createdAt, createdBy int64
	changedAt                           int64
}

// versions expects the versions of an asset to follow each other without a gap or
// an overlap, the last one to be current, and immutable columns not to change.
func (c *checker) versions(ctx context.Context) error {
	var last version
	end := func() error {
		if last != (version{}) && last.until != forever {
			return c.report("asset_version", last.id, "its last version ended at %d and none follows", last.until)
		}
		return nil
	}
	err := c.each(ctx, func(scan row) error {
		var v version
		var asset sql.NullInt64
		err := scan(&v.id, &v.moment, &v.until, &v.code, &v.state, &v.createdMoment, &v.createdAt, &v.createdBy, &v.changedAt, &asset)
		if err != nil {
			return err
		}
		first := v.id != last.id || last == (version{})
		if first {
			if err := end(); err != nil {
				return err
			}
			if !asset.Valid {
				if err := c.report("asset_version", v.id, "there is no such asset"); err != nil {
					return err
				}
			}
		}
		err = c.version(last, v, first)
		last = v
		return err
	}, `SELECT v.id, v.moment, v.until_moment, v.type, v.state, v.created_moment, v.created_at, v.created_by, v.changed_at, a.id`+
		` FROM asset_version v LEFT JOIN asset a ON a.id = v.id ORDER BY v.id, v.moment`)
	if err != nil {
		return err
	}
	return end()
}

// version checks one version against the one before it.
func (c *checker) version(last, v version, first bool) error {
	const table = "asset_version"
	switch {
	case c.concrete(v.code) == nil:
		return c.report(table, v.id, "type %d at moment %d is none that has assets", v.code, v.moment)
	case v.state < 0 || v.state > 255:
		return c.report(table, v.id, "AssetState %d at moment %d", v.state, v.moment)
	case v.until <= v.moment:
		return c.report(table, v.id, "the version of moment %d ended at %d", v.moment, v.until)
	case first && v.createdMoment != v.moment:
		return c.report(table, v.id, "its first version is of moment %d, but it was created at %d", v.moment, v.createdMoment)
	case first:
		return nil
	case last.until != v.moment:
		return c.report(table, v.id, "the version of moment %d ended at %d, the next one is of %d", last.moment, last.until, v.moment)
	case last.code != v.code:
		return c.report(table, v.id, "its type changed from %d to %d at moment %d", last.code, v.code, v.moment)
	case last.createdMoment != v.createdMoment || last.createdAt != v.createdAt || last.createdBy != v.createdBy:
		return c.report(table, v.id, "who created it, and when, changed at moment %d", v.moment)
	case last.changedAt > v.changedAt:
		return c.report(table, v.id, "moment %d was changed before moment %d", v.moment, last.moment)
	}
	return nil
}

// moments expects every moment but the first of all to belong to one version.
func (c *checker) moments(ctx context.Context) error {
	return c.each(ctx, func(scan row) error {
		var id, moment, n int64
		if err := scan(&id, &moment, &n); err != nil {
			return err
		}
		return c.report("asset_version", id, "moment %d belongs to %d versions", moment, n)
	}, `SELECT MIN(id), moment, COUNT(*) FROM asset_version WHERE moment > 0 GROUP BY moment HAVING COUNT(*) > 1`)
}

// auditOfVersion expects every version to have an audit with its moment and its
// author; those of an import may have another author.
func (c *checker) auditOfVersion(ctx context.Context) error {
	return c.each(ctx, func(scan row) error {
		var id, moment, audit, by int64
		var first, last, actor sql.NullInt64
		if err := scan(&id, &moment, &audit, &by, &first, &last, &actor); err != nil {
			return err
		}
		switch {
		case !first.Valid:
			return c.report("asset_version", id, "the audit %d of moment %d does not exist", audit, moment)
		case moment < first.Int64 || moment > last.Int64:
			return c.report("asset_version", id, "moment %d is not within its audit %d, which has %d to %d", moment, audit, first.Int64, last.Int64)
		}
		return c.report("asset_version", id, "moment %d was changed by %d, its audit %d is of %d", moment, by, audit, actor.Int64)
	}, `SELECT v.id, v.moment, v.audit_id, v.changed_by, a.first_moment, a.last_moment, a.actor_id FROM asset_version v`+
		` LEFT JOIN audit a ON a.id = v.audit_id`+
		` WHERE a.id IS NULL OR v.moment < a.first_moment OR v.moment > a.last_moment OR v.changed_by <> a.actor_id AND NOT (a.imported = 1 AND v.moment = v.created_moment)`)
}

// endsOfAudit expects the first and the last moment of an audit to be versions of
// it, and its fan-out to be between them.
func (c *checker) endsOfAudit(ctx context.Context) error {
	return c.each(ctx, func(scan row) error {
		var id, first, last, fanned int64
		if err := scan(&id, &first, &last, &fanned); err != nil {
			return err
		}
		return c.report("audit", id, "its moments %d to %d are not all its versions', or its fan-out is not within them: %d", first, last, fanned)
	}, `SELECT a.id, a.first_moment, a.last_moment, a.fan_moment FROM audit a WHERE a.first_moment > a.last_moment OR a.fan_moment > a.last_moment`+
		` OR a.last_moment > 0 AND (NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.moment = a.first_moment AND v.audit_id = a.id)`+
		` OR NOT EXISTS (SELECT 1 FROM asset_version v WHERE v.moment = a.last_moment AND v.audit_id = a.id))`)
}
