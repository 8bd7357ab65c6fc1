package check

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/store/db"
)

// fixed are the columns that every asset has. They do not depend on its type.
var fixed = []string{
	"id", "type", "state", "moment", "audit_id", "created_moment", "created_at", "created_by", "changed_at", "changed_by",
}

// columns returns all columns that are in asset and in asset_version.
func (c *checker) columns() []string {
	all := append([]string(nil), fixed...)
	for _, col := range c.all {
		all = append(all, col.Name)
	}
	return append(append(all, "attrs", "folded"), db.HashColumns()...)
}

// prefixed returns a list of columns for SQL, each with the prefix.
func prefixed(prefix string, columns []string) string {
	return prefix + strings.Join(columns, ", "+prefix)
}

// sameText reports whether a column has the same value in an asset and in its version. It compares
// JSON documents by their members, because the texts may differ: asset_text has a document as it
// was written, but the database may normalize the document in the row of the asset.
func sameText(column string, a, v []byte) bool {
	if (a == nil) != (v == nil) || bytes.Equal(a, v) || column != "attrs" && column != "folded" {
		return (a == nil) == (v == nil) && bytes.Equal(a, v)
	}
	return maps.Equal(canonical(a), canonical(v))
}

// canonical returns the members of a JSON document by key, each value in its canonical form.
func canonical(document []byte) map[string]string {
	all := map[string]string{}
	_ = value.Members(document, func(key string, v jsontext.Token) error { // the check "attributes" reports invalid JSON
		all[key] = value.Canonical(v)
		return nil
	})
	return all
}

// latest has the moment and the end of an asset's last version. Both fields are NULL if the version
// at the asset's moment is current.
type latest struct{ moment, until sql.NullInt64 }

// current compares every asset, column by column, with its version at the same moment. This version
// must be current.
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
	var last latest
	into[2*n-1] = &until
	into = append(into, &last.moment, &last.until)
	return c.eachIn(ctx, byAsset, func(scan row) error {
		if err := scan(into...); err != nil {
			return err
		}
		moment, _ := strconv.ParseInt(string(values[3]), 10, 64)
		if !until.Valid || until.Int64 != forever {
			c.mendCurrent(id, moment, last, string(values[5]) == string(values[3]))
		}
		if !until.Valid {
			return c.report("asset", id, "it has no version at its moment %d", moment)
		}
		if until.Int64 != forever {
			return c.report("asset", id, "the version at its moment %d is not current: it ended at moment %d",
				moment, until.Int64)
		}
		for i := 1; i < n; i++ {
			a, v := values[i], values[n+i-1]
			if !sameText(columns[i], a, v) {
				c.mendAsset(id, moment)
				return c.report("asset", id, "%s is %.60q, but %.60q in its current version", columns[i], a, v)
			}
		}
		return nil
	}, `SELECT `+prefixed("a.", columns)+`, `+db.OfVersions("v", columns[1:])+`, v.until_moment,`+
		` CASE WHEN v.until_moment = ? THEN NULL ELSE (SELECT MAX(w.moment) FROM asset_version w WHERE w.id = a.id) END,`+
		` CASE WHEN v.until_moment = ? THEN NULL ELSE`+
		` (SELECT w.until_moment FROM asset_version w WHERE w.id = a.id ORDER BY w.moment DESC LIMIT 1) END`+
		` FROM asset a LEFT JOIN asset_version v ON v.id = a.id AND v.moment = a.moment`+
		` WHERE {a.id} ORDER BY a.id`, forever, forever)
}

// mendCurrent adds statements for an asset whose version at its moment is missing or has ended. If
// isFirst is true, the asset has not changed since its creation.
func (c *checker) mendCurrent(id, moment int64, last latest, isFirst bool) {
	switch {
	case !last.moment.Valid && isFirst, last.until.Valid && last.until.Int64 == moment:
		c.mendVersion(id)
	case last.moment.Valid && last.moment.Int64 == moment:
		c.mend(`UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`, forever, id, moment)
	case last.until.Int64 == forever:
		c.mendAsset(id, last.moment.Int64)
	}
}

// mendAsset adds statements that replace the row of an asset with its version at a moment.
func (c *checker) mendAsset(id, moment int64) {
	c.mend(`DELETE FROM asset WHERE id = ?`, id)
	c.mend(c.insertAsset()+`v.id = ? AND v.moment = ?`, id, moment)
}

// insertAsset returns a statement that creates an asset from its version v. The caller appends
// the condition that selects the version.
func (c *checker) insertAsset() string {
	columns := c.columns()
	return `INSERT INTO asset (` + strings.Join(columns, ", ") + `)` +
		` SELECT ` + db.OfVersions("v", columns) + ` FROM asset_version v WHERE `
}

// mendVersion adds statements that create the current version of an asset from the row of the
// asset. The new version counts no links. For a well-known asset with links, the number of links is
// unknown.
func (c *checker) mendVersion(id int64) {
	columns := c.columns()
	c.mend(`INSERT INTO asset_version (`+strings.Join(columns, ", ")+`, until_moment, linked)`+
		` SELECT `+db.ForVersion(columns)+`, ?, 0 FROM asset WHERE id = ?`, forever, id)
	if c.seeds[id] {
		c.mend(`UPDATE asset_version SET linked = 1 WHERE id = ? AND moment = 0`+
			` AND EXISTS (SELECT 1 FROM asset_link l WHERE l.from_id = ? AND l.since_moment = 0)`, id, id)
	}
}

// version has the columns of asset_version that the check "versions" compares.
type version struct {
	id, moment, until                   int64
	code, state                         int
	createdMoment, createdAt, createdBy int64
	changedAt                           int64
}

// versions expects that the versions of an asset follow each other without gaps and overlaps. The
// last version must be current, and immutable columns must not change.
func (c *checker) versions(ctx context.Context) error {
	since, err := c.kept(ctx)
	if err != nil {
		return err
	}
	w := &versionWalk{c: c, since: since}
	err = c.eachIn(ctx, byVersion, func(scan row) error {
		var v version
		var asset sql.NullInt64
		err := scan(&v.id, &v.moment, &v.until, &v.code, &v.state,
			&v.createdMoment, &v.createdAt, &v.createdBy, &v.changedAt, &asset)
		if err != nil {
			return err
		}
		return w.add(v, asset.Valid)
	}, `SELECT v.id, v.moment, v.until_moment, v.type, v.state,`+
		` v.created_moment, v.created_at, v.created_by, v.changed_at, a.id`+
		` FROM asset_version v LEFT JOIN asset a ON a.id = v.id`+
		` WHERE v.until_moment > ? AND {v.id} ORDER BY v.id, v.moment`, since)
	if err == nil {
		err = w.endOfAsset()
	}
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for _, g := range w.gaps {
		if err := c.gap(ctx, g[0], g[1]); err != nil {
			return err
		}
	}
	return err
}

// versionWalk visits the versions of all assets, in the order of ids and moments.
type versionWalk struct {
	c     *checker
	since int64        // versions up to this moment may have been removed
	last  version      // the previous version; zero before the first version
	gaps  [][2]version // pairs of versions with a gap between them; the method gap checks them afterwards
}

// add checks the next version. hasAsset means that the asset of the version exists.
func (w *versionWalk) add(v version, hasAsset bool) error {
	last := w.last
	isFirst := v.id != last.id || last == (version{})
	if isFirst {
		if err := w.endOfAsset(); err != nil {
			return err
		}
		if v.moment <= w.since {
			v.createdMoment = v.moment
		}
		w.last = v
		return w.first(v, hasAsset)
	}

	w.last = v
	if last.moment <= w.since {
		last.createdMoment = v.createdMoment
	}
	if last.moment < last.until && last.until < v.moment {
		w.gaps = append(w.gaps, [2]version{last, v})
		if len(w.gaps) == batch {
			return errEnough
		}
		return nil
	}
	return w.c.nextVersion(last, v)
}

// first checks the first version of an asset.
func (w *versionWalk) first(v version, hasAsset bool) error {
	if !hasAsset {
		w.c.mend(w.c.insertAsset()+`v.id = ? AND v.until_moment = ?`, v.id, forever)
		if err := w.c.report("asset_version", v.id, "the asset of this version is missing"); err != nil {
			return err
		}
	}
	if found, err := w.c.invalidVersion(v); found {
		return err
	}
	if v.createdMoment != v.moment {
		return w.c.report("asset_version", v.id, "its first version is of moment %d, but it was created at moment %d",
			v.moment, v.createdMoment)
	}
	return nil
}

// endOfAsset checks the last version of an asset.
func (w *versionWalk) endOfAsset() error {
	if w.last == (version{}) || w.last.until == forever {
		return nil
	}
	return w.c.report("asset_version", w.last.id, "its last version ended at moment %d, and no version follows", w.last.until)
}

// gap reports that a version ended before the next version began. A moment belongs to one version.
// If another asset has a version at the moment of the end, no version of this asset is missing
// there. Then only the end is wrong, and can be fixed.
func (c *checker) gap(ctx context.Context, last, v version) error {
	var other sql.NullInt64
	err := c.each(ctx, func(scan row) error { return scan(&other) },
		`SELECT MAX(id) FROM asset_version WHERE moment = ?`, last.until)
	if err != nil {
		return err
	}
	if other.Valid {
		c.mendEnd(last, v.moment)
	}
	return c.nextVersion(last, v)
}

// mendEnd adds a statement that changes the end of a version.
func (c *checker) mendEnd(v version, until int64) {
	c.mend(`UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`, until, v.id, v.moment)
}

// invalidVersion checks the type and the state of a version. The result found is true if it has
// reported a finding.
func (c *checker) invalidVersion(v version) (found bool, err error) {
	switch {
	case c.concrete(v.code) == nil:
		return true, c.report("asset_version", v.id, "its type %d at moment %d does not exist or is abstract", v.code, v.moment)
	case v.state < 0 || v.state > 255:
		return true, c.report("asset_version", v.id, "its AssetState %d at moment %d is not from 0 to 255", v.state, v.moment)
	}
	return false, nil
}

// nextVersion checks the version v, and compares it with the previous version of the same asset.
func (c *checker) nextVersion(last, v version) error {
	const table = "asset_version"
	if found, err := c.invalidVersion(v); found {
		return err
	}
	switch {
	case last.until != v.moment:
		if last.until > v.moment || last.until <= last.moment {
			c.mendEnd(last, v.moment)
		}
		return c.report(table, v.id,
			"the version of moment %d ended at moment %d, but the next version began at moment %d",
			last.moment, last.until, v.moment)
	case last.code != v.code:
		return c.report(table, v.id, "its type changed from %d to %d at moment %d", last.code, v.code, v.moment)
	case last.createdMoment != v.createdMoment || last.createdAt != v.createdAt || last.createdBy != v.createdBy:
		return c.report(table, v.id, "its creator or its time of creation changed at moment %d", v.moment)
	case last.changedAt > v.changedAt:
		return c.report(table, v.id, "the time of change of moment %d is before that of moment %d", v.moment, last.moment)
	}
	return nil
}

// moments expects that no moment except 0 belongs to several versions.
func (c *checker) moments(ctx context.Context) error {
	return c.eachIn(ctx, byMoment, func(scan row) error {
		var id, moment, n int64
		if err := scan(&id, &moment, &n); err != nil {
			return err
		}
		return c.report("asset_version", id, "moment %d belongs to %d versions", moment, n)
	}, `SELECT MIN(id), moment, COUNT(*) FROM asset_version WHERE moment > 0 AND {moment}`+
		` GROUP BY moment HAVING COUNT(*) > 1`)
}

// auditOfVersion expects that every version has an audit that includes its moment and has the same
// author. The first version of an imported asset may have another author than its audit.
func (c *checker) auditOfVersion(ctx context.Context) error {
	return c.eachIn(ctx, byVersion, func(scan row) error {
		var id, moment, audit, by int64
		var first, last, actor sql.NullInt64
		if err := scan(&id, &moment, &audit, &by, &first, &last, &actor); err != nil {
			return err
		}
		switch {
		case !first.Valid:
			return c.report("asset_version", id, "the audit %d of moment %d does not exist", audit, moment)
		case moment < first.Int64 || moment > last.Int64:
			return c.report("asset_version", id, "moment %d is not in its audit %d, which has the moments %d to %d",
				moment, audit, first.Int64, last.Int64)
		}
		return c.report("asset_version", id, "moment %d was changed by member %d, but its audit %d is of member %d",
			moment, by, audit, actor.Int64)
	}, `SELECT v.id, v.moment, v.audit_id, v.changed_by, a.first_moment, a.last_moment, a.actor_id FROM asset_version v`+
		` LEFT JOIN audit a ON a.id = v.audit_id`+
		` WHERE {v.id} AND (a.id IS NULL OR v.moment < a.first_moment OR v.moment > a.last_moment`+
		` OR v.changed_by <> a.actor_id AND NOT (a.imported = 1 AND v.moment = v.created_moment))`+
		` ORDER BY v.id, v.moment`)
}

// endsOfAudit expects that an audit has versions at its first and at its last moment. Its fan-out
// must not have passed the last moment.
func (c *checker) endsOfAudit(ctx context.Context) error {
	since, err := c.kept(ctx)
	if err != nil {
		return err
	}
	return c.eachIn(ctx, byAudit, func(scan row) error {
		var id, first, last, fanned int64
		if err := scan(&id, &first, &last, &fanned); err != nil {
			return err
		}
		return c.report("audit", id,
			"its moments %d to %d do not match its versions, or its fan-out at moment %d is after them",
			first, last, fanned)
	}, `SELECT a.id, a.first_moment, a.last_moment, a.fan_moment FROM audit a`+
		` WHERE {a.id} AND (a.first_moment > a.last_moment OR a.fan_moment > a.last_moment`+
		` OR a.first_moment > ? AND NOT EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.moment = a.first_moment AND v.audit_id = a.id)`+
		` OR a.last_moment > ? AND NOT EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.moment = a.last_moment AND v.audit_id = a.id))`+
		` ORDER BY a.id`, since, since)
}
