package check

import (
	"context"
	"database/sql"
	"slices"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
)

// references expects that every id in a column of references is the id of an asset that the
// attribute allows.
func (c *checker) references(ctx context.Context) error {
	for slot, col := range c.m.Columns {
		if col.Kind != meta.Ref {
			continue
		}
		related := map[*meta.Type]*meta.Attr{}
		_ = c.types(func(t *meta.Type) error {
			if col.Name == "scope_id" {
				scope, _ := c.m.Type("Scope")
				related[t], _ = scope.Attr("SecurityScope")
			}
			for _, a := range t.Attrs {
				if a.Place.Kind == meta.InColumn && a.Place.Slot == slot {
					related[t] = a
				}
			}
			return nil
		})
		err := c.eachIn(ctx, byVersion, func(scan row) error {
			var id, moment, to int64
			var code int
			var toCode sql.NullInt32
			if err := scan(&id, &moment, &code, &to, &toCode); err != nil {
				return err
			}
			return c.reference("asset_version", id, moment, col.Name, related[c.concrete(code)], to, toCode)
		}, `SELECT v.id, v.moment, v.type, v.`+col.Name+`, t.type FROM asset_version v`+
			` LEFT JOIN asset t ON t.id = v.`+col.Name+
			` WHERE v.`+col.Name+` IS NOT NULL AND {v.id} ORDER BY v.id, v.moment`)
		if err != nil {
			return err
		}
	}
	return nil
}

// reference checks that an attribute allows the asset to which a row refers. The parameter what is
// the name of the column or attribute in the report. The parameter a is nil for an unknown
// attribute. The parameter to is the id of the asset, and code is the code of its type, or NULL if
// the asset does not exist.
func (c *checker) reference(
	table string, id, moment int64, what string, a *meta.Attr, to int64, code sql.NullInt32,
) error {
	t := c.concrete(int(code.Int32))
	switch {
	case !code.Valid:
		return c.report(table, id, "%s at moment %d refers to %d, which does not exist", what, moment, to)
	case a == nil || t == nil || a.Takes(t):
		return nil
	case a.Targets != nil:
		return c.report(table, id, "%s at moment %d refers to %d, a %s, which the attribute does not allow",
			what, moment, to, t.Name)
	}
	return c.report(table, id, "%s at moment %d refers to %d, a %s instead of a %s",
		what, moment, to, t.Name, a.Related.Name)
}

// edge is a row of asset_link, with the field to, or a row of asset_value, with the fields value
// and folded.
type edge struct {
	code, fromType int
	from, to       int64
	value, folded  string
	since, until   int64
	fromCode       sql.NullInt32 // type code of the asset with the id from; NULL: the asset does not exist
	toCode         sql.NullInt32 // type code of the asset with the id to; NULL: the asset does not exist
	began, ended   bool          // began: an asset of the edge has a version at the moment since; ended: at the moment until
}

// links expects that both assets of a link exist and have the right types. When the link begins,
// one of the two assets must have a version at that moment, and also when the link ends. A to-one
// relation must have at most one link at a time.
func (c *checker) links(ctx context.Context) error {
	var last edge
	var ones []span // spans of the links that were read so far for the same to-one relation of the same asset
	return c.eachEdge(ctx, links, func(scan row) error {
		var l edge
		err := scan(&l.code, &l.fromType, &l.from, &l.to, &l.since, &l.until, &l.fromCode, &l.toCode, &l.began, &l.ended)
		if err != nil {
			return err
		}
		if l.code != last.code || l.from != last.from || l.fromType != last.fromType {
			ones = ones[:0]
		}
		a := c.linkAttr(l)
		if err := c.link(l, a); err != nil {
			return err
		}
		if l.sameRow(last) && l.since < last.until {
			c.mendDouble(last, l)
			last.until = max(last.until, l.until)
			return c.report("asset_link", l.from, "relation %d to %d exists twice at the same time: since %d and since %d",
				l.code, l.to, last.since, l.since)
		}
		if a != nil && !a.Multi {
			mine := span{since: l.since, until: l.until}
			for _, s := range ones {
				if s.overlaps(mine) {
					return c.report("asset_link", l.from, "%s has two values at moment %d", a.Token(), max(s.since, l.since))
				}
			}
			ones = append(ones, mine)
		}
		last = l
		return nil
	}, `SELECT l.relation, l.from_type, l.from_id, l.to_id, l.since_moment, l.until_moment, f.type, t.type,`+
		` l.since_moment <= `+horizon+` OR EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.id IN (l.from_id, l.to_id) AND v.moment = l.since_moment),`+
		` l.until_moment = ? OR l.until_moment <= `+horizon+` OR EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.id IN (l.from_id, l.to_id) AND v.moment = l.until_moment)`+
		` FROM asset_link l LEFT JOIN asset f ON f.id = l.from_id LEFT JOIN asset t ON t.id = l.to_id`+
		` WHERE {l.from_id} AND l.relation = ? AND l.from_type = ?`+
		` ORDER BY l.relation, l.from_type, l.from_id, l.to_id, l.since_moment`, forever)
}

// mendDouble replaces two equal links that overlap with one link. The new link begins when the
// earlier link begins, and ends when the later link ends. mendDouble also sets the number of links
// of the affected versions to unknown.
func (c *checker) mendDouble(first, second edge) {
	const row = ` WHERE relation = ? AND from_type = ? AND from_id = ? AND to_id = ? AND since_moment = ?`
	c.mend(`DELETE FROM asset_link`+row, second.code, second.fromType, second.from, second.to, second.since)
	if second.until > first.until {
		c.mend(`UPDATE asset_link SET until_moment = ?`+row,
			second.until, first.code, first.fromType, first.from, first.to, first.since)
	}
	c.mend(`UPDATE asset_version SET linked = 1 WHERE id IN (?, ?) AND moment IN (?, ?) AND linked > 1`,
		second.from, second.to, second.since, min(first.until, second.until))
}

// sameRow reports whether two edges have the same code, the same assets and the same value. Their
// spans may differ.
func (e edge) sameRow(o edge) bool {
	return e.code == o.code && e.fromType == o.fromType && e.from == o.from && e.to == o.to && e.folded == o.folded
}

// linkAttr returns the attribute to which a link belongs. It looks in the type of the first asset,
// and returns nil if this type has no such attribute.
func (c *checker) linkAttr(l edge) *meta.Attr {
	fwd, ok := c.m.LinkByCode(l.code)
	t := c.concrete(l.fromType)
	if !ok || t == nil {
		return nil
	}
	if a, ok := t.Attr(fwd.Name); ok && a.Place.Kind == meta.InLinks && a.Place.Code == l.code {
		return a
	}
	i := slices.IndexFunc(t.Kept, func(a *meta.Attr) bool {
		return a.Place.Kind == meta.InLinks && a.Place.Code == l.code
	})
	if i < 0 {
		return nil
	}
	return t.Kept[i]
}

// link checks the span of a link and the types of its two assets. a is the attribute of the link,
// or nil if the type of the first asset has no such attribute.
func (c *checker) link(l edge, a *meta.Attr) error {
	const table = "asset_link"
	switch {
	case a == nil:
		return c.report(table, l.from, "type %d has no relation %d", l.fromType, l.code)
	case !l.fromCode.Valid:
		return c.report(table, l.from, "%s belongs to the asset %d, which does not exist", a.Token(), l.from)
	case int(l.fromCode.Int32) != l.fromType:
		c.mend(`UPDATE asset_link SET from_type = ?`+
			` WHERE relation = ? AND from_type = ? AND from_id = ? AND to_id = ? AND since_moment = ?`,
			l.fromCode.Int32, l.code, l.fromType, l.from, l.to, l.since)
		return c.report(table, l.from, "%s: from_type is %d, but the asset's type is %d",
			a.Token(), l.fromType, l.fromCode.Int32)
	}
	if err := c.reference(table, l.from, l.since, a.Token(), a, l.to, l.toCode); err != nil {
		return err
	}
	return c.spanOf(table, l, a)
}

// spanOf checks that an edge ends after it begins, and that its assets have versions at both
// moments.
func (c *checker) spanOf(table string, e edge, a *meta.Attr) error {
	switch {
	case e.until <= e.since:
		return c.report(table, e.from, "%s began at moment %d, but ended at moment %d", a.Token(), e.since, e.until)
	case !e.began:
		return c.report(table, e.from, "%s began at moment %d, at which its assets have no version", a.Token(), e.since)
	case !e.ended:
		return c.report(table, e.from, "%s ended at moment %d, at which its assets have no version", a.Token(), e.until)
	}
	return nil
}

// requiredLinks expects that every asset has a current link for each required relation that is
// stored in asset_link.
func (c *checker) requiredLinks(ctx context.Context) error {
	return c.typesInUse(ctx, func(t *meta.Type) error {
		for _, a := range t.Attrs {
			if !a.Required || a.Custom || a.Place.Kind != meta.InLinks {
				continue
			}
			err := c.eachIn(ctx, ofType(t.Code), func(scan row) error {
				var id int64
				if err := scan(&id); err != nil {
					return err
				}
				if c.seeds[id] {
					return nil
				}
				return c.report("asset", id, "it has no %s", a.Token())
			}, `SELECT a.id FROM asset a LEFT JOIN asset_link l`+
				` ON l.relation = ? AND l.from_type = a.type AND l.from_id = a.id AND l.until_moment = ?`+
				` WHERE a.type = ? AND {a.id} AND l.from_id IS NULL ORDER BY a.id`, a.Place.Code, forever, t.Code)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// values checks the values of attributes with several values. The type of the asset must have the
// attribute. The asset must have versions at the moments when a value begins and ends. Equal values
// of an asset must not overlap.
func (c *checker) values(ctx context.Context) error {
	var last edge
	return c.eachEdge(ctx, values, func(scan row) error {
		var v edge
		err := scan(&v.code, &v.fromType, &v.from, &v.value, &v.folded, &v.since, &v.until, &v.fromCode, &v.began, &v.ended)
		if err != nil {
			return err
		}
		defer func() { last = v }()
		a := c.valueAttr(v)
		switch {
		case a == nil:
			return c.report("asset_value", v.from, "type %d has no multi-value attribute %d", v.fromType, v.code)
		case int(v.fromCode.Int32) != v.fromType || !v.fromCode.Valid:
			return c.report("asset_value", v.from, "%s: from_type is %d, but the asset's type is %d",
				a.Token(), v.fromType, v.fromCode.Int32)
		case v.folded != folding.Of(v.value):
			c.mend(`UPDATE asset_value SET folded = ?`+
				` WHERE attribute = ? AND from_type = ? AND from_id = ? AND folded = ? AND since_moment = ?`,
				folding.Of(v.value), v.code, v.fromType, v.from, v.folded, v.since)
			return c.report("asset_value", v.from, "%s %q has the wrong folded form %q", a.Token(), v.value, v.folded)
		case v.sameRow(last) && v.since < last.until:
			return c.report("asset_value", v.from, "%s %q exists twice at the same time: since %d and since %d",
				a.Token(), v.value, last.since, v.since)
		}
		return c.spanOf("asset_value", v, a)
	}, `SELECT l.attribute, l.from_type, l.from_id, l.value, l.folded, l.since_moment, l.until_moment, f.type,`+
		` l.since_moment <= `+horizon+` OR EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.id = l.from_id AND v.moment = l.since_moment),`+
		` l.until_moment = ? OR l.until_moment <= `+horizon+` OR EXISTS`+
		` (SELECT 1 FROM asset_version v WHERE v.id = l.from_id AND v.moment = l.until_moment)`+
		` FROM asset_value l LEFT JOIN asset f ON f.id = l.from_id`+
		` WHERE {l.from_id} AND l.attribute = ? AND l.from_type = ?`+
		` ORDER BY l.attribute, l.from_type, l.from_id, l.folded, l.since_moment`, forever)
}

// valueAttr returns the attribute to which a value belongs, or nil if the asset's type has no such
// attribute.
func (c *checker) valueAttr(v edge) *meta.Attr {
	if t := c.concrete(v.fromType); t != nil {
		for _, a := range t.Attrs {
			if a.Place.Kind == meta.InValues && a.Place.Code == v.code {
				return a
			}
		}
	}
	return nil
}
