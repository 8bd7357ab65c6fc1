package check

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/meta"
)

// copied is what assets of a type copy from the one that a relation names.
type copied struct {
	from    *meta.Attr
	columns []string
}

// copies tells what a type copies: the scope of what it is secured by, and the
// attributes it follows.
func (c *checker) copies(t *meta.Type) []copied {
	var all []copied
	add := func(relation, column string) {
		a, ok := t.Attr(relation)
		if !ok || a.Place.Kind == meta.InColumn && a.Place.Column == column {
			return // its own scope: nothing is copied
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

// followers expects the values that an asset copies from another to be that one's
// current ones.
func (c *checker) followers(ctx context.Context) error {
	return c.types(func(t *meta.Type) error {
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
		join = ` LEFT JOIN asset_link l ON l.relation = ? AND l.from_type = a.type AND l.from_id = a.id AND l.until_moment = ?` +
			` LEFT JOIN asset p ON p.id = l.to_id`
		args = []any{x.from.Place.Code, forever}
	}
	var differ []string
	for _, col := range x.columns {
		differ = append(differ, `COALESCE(a.`+col+`, -1) <> COALESCE(p.`+col+`, -1)`)
	}
	return c.each(ctx, func(scan row) error {
		var id int64
		var of sql.NullInt64
		if err := scan(&id, &of); err != nil {
			return err
		}
		return c.report("asset", id, "its %s are not those of its %s, %d", strings.Join(x.columns, ", "), x.from.Token(), of.Int64)
	}, `SELECT a.id, p.id FROM asset a`+join+` WHERE a.type = ? AND (`+strings.Join(differ, " OR ")+`) ORDER BY a.id`, append(args, t.Code)...)
}

// ownScope expects projects to be their own security scope.
func (c *checker) ownScope(ctx context.Context) error {
	return c.types(func(t *meta.Type) error {
		if !t.Secured.Self {
			return nil
		}
		return c.each(ctx, func(scan row) error {
			var id int64
			var scope sql.NullInt64
			if err := scan(&id, &scope); err != nil {
				return err
			}
			return c.report("asset", id, "it is its own security scope, but scope_id is %d", scope.Int64)
		}, `SELECT id, scope_id FROM asset WHERE type = ? AND (scope_id IS NULL OR scope_id <> id)`, t.Code)
	})
}

// states expects the AssetState of assets that are not deleted to be that of their
// status attribute.
func (c *checker) states(ctx context.Context) error {
	return c.types(func(t *meta.Type) error {
		a, ok := t.Attr(t.StateFrom.Attribute)
		if !ok || a.Place.Kind != meta.InLinks {
			return nil
		}
		codes := map[int64]int{}
		for _, i := range c.m.Instances {
			if code, ok := t.StateFrom.States[token(i)]; ok {
				codes[i.Type.Stored(i.ID)] = code
			}
		}
		return c.each(ctx, func(scan row) error {
			var id, of int64
			var state int
			if err := scan(&id, &state, &of); err != nil {
				return err
			}
			if code, ok := codes[of]; ok && code != state {
				return c.report("asset", id, "AssetState is %d, with its %s %d", state, a.Token(), code)
			}
			return nil
		}, `SELECT a.id, a.state, l.to_id FROM asset a JOIN asset_link l ON l.relation = ? AND l.from_type = a.type AND l.from_id = a.id AND l.until_moment = ?`+
			` WHERE a.type = ? AND a.state < 200`, a.Place.Code, forever, t.Code)
	})
}
