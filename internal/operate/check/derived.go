package check

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// copied describes columns of assets of one type. Their values are copied from a related asset.
type copied struct {
	from    *meta.Attr // the relation to the related asset
	columns []string
}

// copies returns the columns that assets of a type copy from related assets. These are the column
// of the security scope, and the columns of attributes that always have the same value as an
// attribute of a related asset.
func (c *checker) copies(t *meta.Type) []copied {
	var all []copied
	add := func(relation, column string) {
		a, ok := t.Attr(relation)
		if !ok || a.Place.Kind == meta.InColumn && a.Place.Column == column {
			return // the asset has the scope itself, so nothing is copied
		}
		i := slices.IndexFunc(all, func(x copied) bool { return x.from == a })
		if i < 0 {
			all, i = append(all, copied{from: a}), len(all)
		}
		if !slices.Contains(all[i].columns, column) {
			all[i].columns = append(all[i].columns, column)
		}
	}
	if t.Secured.Via != "" {
		add(t.Secured.Via, "scope_id")
	}
	for _, name := range t.Follows.Attributes {
		if a, ok := t.Attr(name); ok && a.Place.Kind == meta.InColumn {
			add(t.Follows.Relation, a.Place.Column)
		}
	}
	return all
}

// followers reports assets whose copied values differ from the current values of the asset that
// they are copied from.
func (c *checker) followers(ctx context.Context) error {
	return c.typesInUse(ctx, func(t *meta.Type) error {
		for _, x := range c.copies(t) {
			if err := c.follower(ctx, t, x); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) follower(ctx context.Context, t *meta.Type, x copied) error {
	join, args := ` LEFT JOIN asset p ON p.id = a.`+x.from.Place.Column, []any(nil)
	if x.from.Place.Kind == meta.InLinks {
		join = ` LEFT JOIN asset_link l` +
			` ON l.relation = ? AND l.from_type = a.type AND l.from_id = a.id AND l.until_moment = ?` +
			` LEFT JOIN asset p ON p.id = l.to_id`
		args = []any{x.from.Place.Code, forever}
	}
	var differ []string
	for _, col := range x.columns {
		differ = append(differ, `COALESCE(a.`+col+`, -1) <> COALESCE(p.`+col+`, -1)`)
	}
	return c.eachIn(ctx, ofType(t.Code), func(scan row) error {
		var id int64
		var of sql.NullInt64
		if err := scan(&id, &of); err != nil {
			return err
		}
		return c.report("asset", id, "its columns %s differ from those of its %s, which is %d",
			strings.Join(x.columns, ", "), x.from.Token(), of.Int64)
	}, `SELECT a.id, p.id FROM asset a`+join+
		` WHERE a.type = ? AND {a.id} AND (`+strings.Join(differ, " OR ")+`) ORDER BY a.id`, append(args, t.Code)...)
}

// ownScope expects that every project is its own security scope.
func (c *checker) ownScope(ctx context.Context) error {
	return c.typesInUse(ctx, func(t *meta.Type) error {
		if !t.Secured.Self {
			return nil
		}
		return c.eachIn(ctx, ofType(t.Code), func(scan row) error {
			var id int64
			var scope sql.NullInt64
			if err := scan(&id, &scope); err != nil {
				return err
			}
			return c.report("asset", id, "a project is its own security scope, but its scope_id is %d", scope.Int64)
		}, `SELECT id, scope_id FROM asset`+
			` WHERE type = ? AND {id} AND (scope_id IS NULL OR scope_id <> id) ORDER BY id`, t.Code)
	})
}

// states expects that the AssetState of every version matches its status attribute. Versions in
// which the asset is deleted are not checked.
func (c *checker) states(ctx context.Context) error {
	return c.typesInUse(ctx, func(t *meta.Type) error {
		a, ok := t.Attr(t.StateFrom.Attribute)
		if !ok || a.Place.Kind != meta.InLinks {
			return nil
		}
		codes, statuses := map[int64]int{}, map[int]int64{}
		for _, i := range c.m.Instances {
			if code, ok := t.StateFrom.States[token(i)]; ok {
				codes[i.Type.Stored(i.ID)], statuses[code] = code, i.Type.Stored(i.ID)
			}
		}
		if len(statuses) != len(codes) {
			clear(statuses) // several statuses have the same state, so a state does not determine a status
		}
		return c.statesOf(ctx, t, a, codes, statuses)
	})
}

// unrelated is a range of versions of one asset that has no link to a status. status is the status
// that the AssetState of these versions determines.
type unrelated struct{ id, since, until, status int64 }

// statesOf checks the versions of a type. a is the status attribute of the type. codes maps each
// status to its state. statuses maps each state to its status if each state has only one status;
// otherwise statuses is empty.
func (c *checker) statesOf(
	ctx context.Context, t *meta.Type, a *meta.Attr, codes map[int64]int, statuses map[int]int64,
) error {
	var lost unrelated
	end := func() error {
		if lost == (unrelated{}) {
			return nil
		}
		c.mend(`INSERT INTO asset_link (relation, from_type, from_id, to_id, since_moment, until_moment)`+
			` VALUES (?, ?, ?, ?, ?, ?)`,
			a.Place.Code, t.Code, lost.id, lost.status, lost.since, lost.until)
		err := c.report("asset", lost.id,
			"it has no %s from moment %d on, but its AssetState is that of the status %d",
			a.Token(), lost.since, lost.status)
		lost = unrelated{}
		return err
	}
	err := c.eachIn(ctx, ofType(t.Code), func(scan row) error {
		var id, moment, until int64
		var state int
		var of sql.NullInt64
		if err := scan(&id, &moment, &until, &state, &of); err != nil {
			return err
		}
		status, known := statuses[state]
		goesOn := lost.id == id && lost.until == moment && !of.Valid &&
			(status == lost.status || state == int(meta.StateDeleted))
		if goesOn {
			lost.until = until
			return nil
		}
		if err := end(); err != nil {
			return err
		}
		if code, ok := codes[of.Int64]; of.Valid && ok && code != state && state < 200 {
			return c.report("asset", id, "its AssetState at moment %d is %d, but that of its %s is %d",
				moment, state, a.Token(), code)
		}
		if !of.Valid && known && !c.seeds[id] {
			lost = unrelated{id, moment, until, status}
		}
		return nil
	}, `SELECT v.id, v.moment, v.until_moment, v.state, l.to_id FROM asset a JOIN asset_version v ON v.id = a.id`+
		` LEFT JOIN asset_link l ON l.relation = ? AND l.from_type = v.type AND l.from_id = v.id`+
		` AND l.since_moment <= v.moment AND l.until_moment > v.moment`+
		` WHERE a.type = ? AND {a.id} AND v.type = a.type AND v.until_moment > `+horizon+
		` ORDER BY v.id, v.moment`, a.Place.Code, t.Code)
	if err != nil {
		return err
	}
	return end()
}
