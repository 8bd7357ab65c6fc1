package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// portion is about how many rows of a table one statement reads, each of which may have
// texts of a MiB. A database is read in parts, since a server ends a statement that takes as
// long as the database is large.
const portion = 1000

// key is a column by which the rows of a table are read in parts, or those for which a
// condition holds. There is a key of the columns that the condition compares and of this
// one.
type key struct {
	table, column string
	where         string // such as "type = ?"; empty: all rows
	args          []any  // of where
}

// part is a range of the values of a column: above one and up to another, nil for no bound.
type part struct{ above, upTo any }

// of is the condition that a column lies in the part, and its arguments.
func (p part) of(column string) (string, []any) {
	switch {
	case p.above == nil && p.upTo == nil:
		return "1 = 1", nil
	case p.above == nil:
		return column + " <= ?", []any{p.upTo}
	case p.upTo == nil:
		return column + " > ?", []any{p.above}
	}
	return "(" + column + " > ? AND " + column + " <= ?)", []any{p.above, p.upTo}
}

// parts calls fn for one part of a table after the other, in the order of the column.
func (c *checker) parts(ctx context.Context, k key, fn func(p part) error) error {
	ends, err := c.ends(ctx, k)
	if err != nil {
		return err
	}
	p := part{}
	for _, end := range append(ends, nil) {
		p.above, p.upTo = p.upTo, end
		if err := fn(p); err != nil {
			return err
		}
	}
	return nil
}

// ends returns where the parts of a table end, but the last one. The snapshot is one, so that
// several checks have the same.
func (c *checker) ends(ctx context.Context, k key) ([]any, error) {
	name := fmt.Sprint(k)
	if all, known := c.known[name]; known {
		return all, nil
	}
	var all []any
	for p := (part{}); ; p.above = all[len(all)-1] {
		before := len(all)
		where, args := p.of(k.column)
		if k.where != "" {
			where, args = k.where+" AND "+where, slices.Concat(k.args, args)
		}
		err := c.each(ctx, func(scan row) error {
			var v any
			err := scan(&v)
			if text, ok := v.([]byte); ok {
				v = string(text)
			}
			all = append(all, v)
			return err
		}, `SELECT `+k.column+` FROM `+k.table+` WHERE `+where+` ORDER BY `+k.column+` LIMIT 1 OFFSET ?`, append(args, c.portion-1)...)
		if err != nil {
			return nil, err
		}
		if len(all) == before {
			c.known[name] = all
			return all, nil
		}
	}
}

// eachIn is each for a query that reads the rows of a key, part by part: {v.id} in it stands
// for the condition that v.id lies in the part. A query that sorts by the column first has
// its rows in order over all parts.
func (c *checker) eachIn(ctx context.Context, k key, fn func(scan row) error, query string, args ...any) error {
	return c.parts(ctx, k, func(p part) error {
		text, all := p.put(query, args)
		return c.each(ctx, fn, text, all...)
	})
}

// put replaces {column} in a query by the condition that the column lies in the part.
func (p part) put(query string, args []any) (string, []any) {
	var b strings.Builder
	var all []any
	for {
		at := strings.IndexAny(query, "?{")
		if at < 0 {
			b.WriteString(query)
			return b.String(), all
		}
		b.WriteString(query[:at])
		if query[at] == '?' {
			b.WriteByte('?')
			all, args, query = append(all, args[0]), args[1:], query[at+1:]
			continue
		}
		column, rest, _ := strings.Cut(query[at+1:], "}")
		condition, bounds := p.of(column)
		b.WriteString(condition)
		all, query = append(all, bounds...), rest
	}
}

// The keys that many checks read by.
var (
	byAsset   = key{table: "asset", column: "id"}
	byVersion = key{table: "asset_version", column: "id"}
	byMoment  = key{table: "asset_version", column: "moment"}
	byAudit   = key{table: "audit", column: "id"}
)

// ofType is byAsset for the assets of a type.
func ofType(code int) key {
	return key{"asset", "id", "type = ?", []any{code}}
}

// edges are the rows of asset_link or asset_value, or those with one code.
type edges struct {
	table, column string // column has the code of the relation or attribute
	code          int    // 0: all
}

var (
	links  = edges{table: "asset_link", column: "relation"}
	values = edges{table: "asset_value", column: "attribute"}
)

// of are the edges with a code.
func (e edges) of(code int) edges { return edges{e.table, e.column, code} }

// eachEdge is eachIn for all edges, in the order of their primary key. The query has the
// condition {from_id}, behind which it compares the code and from_type with values that are
// none of its args.
func (c *checker) eachEdge(ctx context.Context, e edges, fn func(scan row) error, query string, args ...any) error {
	codes, err := []int{e.code}, error(nil)
	if e.code == 0 {
		codes, err = c.distinct(ctx, e.table, e.column, "1 = 1")
	}
	if err != nil {
		return err
	}
	for _, code := range codes {
		types, err := c.fromTypes(ctx, e, code)
		if err != nil {
			return err
		}
		for _, from := range types {
			k := key{e.table, "from_id", e.column + " = ? AND from_type = ?", []any{code, from}}
			if err := c.eachIn(ctx, k, fn, query, append(slices.Clip(args), code, from)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// fromTypes returns the types that edges with a code come from.
func (c *checker) fromTypes(ctx context.Context, e edges, code int) ([]int, error) {
	return c.distinct(ctx, e.table, "from_type", e.column+" = ?", code)
}

// distinct returns the few values of a column, in order, of the rows for which a condition
// holds. Each is one step in a key of the columns that the condition compares and of this one.
func (c *checker) distinct(ctx context.Context, table, column, where string, args ...any) (all []int, err error) {
	for more := ""; ; more = " AND " + column + " > ?" {
		var next *int
		err := c.each(ctx, func(scan row) error { return scan(&next) }, `SELECT MIN(`+column+`) FROM `+table+` WHERE `+where+more, args...)
		if err != nil || next == nil {
			return all, err
		}
		args = append(args[:len(args)-min(len(all), 1)], *next)
		all = append(all, *next)
	}
}
