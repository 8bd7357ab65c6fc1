package check

import (
	"context"
	"database/sql"

	"github.com/alds-dev/alds/internal/model/meta"
)

// maxRank is the highest rank.
const maxRank = 1<<31 - 1

// ranks expects that every asset of a ranked type has a rank from 1 to maxRank. The rank must be
// unique among the types that share a ranking (a rank space). The ranks of versions must also be
// from 1 to maxRank.
func (c *checker) ranks(ctx context.Context) error {
	ranked := map[*meta.Type]bool{}
	_ = c.types(func(t *meta.Type) error {
		for _, a := range t.Attrs {
			ranked[t] = ranked[t] || a.Kind == meta.Rank && a.Place.Kind == meta.InColumn
		}
		return nil
	})
	err := c.typesInUse(ctx, func(t *meta.Type) error {
		if !ranked[t] {
			return nil
		}
		return c.unranked(ctx, t)
	})
	if err != nil {
		return err
	}
	var last int64
	highest := map[string]int64{}
	spaces := map[string]int64{} // by rank space: id of the asset that has the rank in the variable last
	err = c.eachIn(ctx, key{table: "asset", column: "order_key", where: "order_key IS NOT NULL"}, func(scan row) error {
		var id, rank int64
		var code int
		if err := scan(&id, &code, &rank); err != nil {
			return err
		}
		t := c.concrete(code)
		if t == nil || !ranked[t] || c.seeds[id] {
			return nil
		}
		if rank < 1 || rank > maxRank {
			return c.report("asset", id, "its rank %d is not from 1 to %d", rank, maxRank)
		}
		if rank != last {
			last = rank
			clear(spaces)
		}
		if other, taken := spaces[t.RankSpace]; taken {
			return c.report("asset", id, "it has the same rank as the asset %d: %d", other, rank)
		}
		spaces[t.RankSpace], highest[t.RankSpace] = id, rank
		return nil
	}, `SELECT id, type, order_key FROM asset WHERE order_key IS NOT NULL AND {order_key} ORDER BY order_key, id`)
	if err != nil {
		return err
	}
	for space, rank := range highest {
		if err := c.ranksAhead(ctx, "rank:"+space, rank); err != nil {
			return err
		}
	}
	return c.eachIn(ctx, byVersion, func(scan row) error {
		var id, moment, rank int64
		if err := scan(&id, &moment, &rank); err != nil {
			return err
		}
		return c.report("asset_version", id, "its rank at moment %d is %d, and not from 1 to %d", moment, rank, maxRank)
	}, `SELECT id, moment, order_key FROM asset_version`+
		` WHERE {id} AND (order_key < 1 OR order_key > ?) ORDER BY id, moment`, maxRank)
}

// unranked reports the assets of a ranked type that have no rank.
func (c *checker) unranked(ctx context.Context, t *meta.Type) error {
	return c.eachIn(ctx, ofType(t.Code), func(scan row) error {
		var id int64
		if err := scan(&id); err != nil || c.seeds[id] {
			return err
		}
		return c.report("asset", id, "it is a %s and has no rank", t.Name)
	}, `SELECT id FROM asset WHERE type = ? AND {id} AND order_key IS NULL ORDER BY id`, t.Code)
}

// ranksAhead reports a sequence whose next rank is not above the highest rank in use. A sequence
// has no row before its first use.
func (c *checker) ranksAhead(ctx context.Context, name string, highest int64) error {
	var value sql.NullInt64
	err := c.each(ctx, func(scan row) error { return scan(&value) },
		`SELECT MAX(value) FROM sequence WHERE name = ?`, name)
	if err != nil {
		return err
	}
	next := value.Int64 + 32
	if next > 1<<30 { // above 1<<30, the distance of new ranks is 4 and not 32
		next = 1<<30 + (next-1<<30)/8
	}
	if value.Valid && next <= highest {
		to := highest
		if highest > 1<<30 {
			to = 1<<30 + (highest-1<<30)*8
		}
		c.mend(`UPDATE sequence SET value = ? WHERE name = ?`, (to+31)/32*32, name)
		return c.report("sequence", value.Int64,
			"the next rank of the sequence %s is %d, but %d is in use", name, next, highest)
	}
	return nil
}
