package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// portion is about how many rows of a table one statement reads. A row may contain texts of a MiB.
// A table is read in parts because a server ends statements that run too long.
const portion = 1000

// key describes how the rows of a table are read in parts: in the order of one column. The table
// needs an index that begins with the columns in the field where, and continues with this column.
type key struct {
	table, column string
	where         string // condition for the rows that are read, such as "type = ?"; empty: all rows
	args          []any  // arguments of where
}

// part is a range of the values of a column. The values are greater than the field above, and at
// most the field upTo. If a field is nil, there is no such bound.
type part struct{ above, upTo any }

// of returns the SQL condition that a column is in the part, and the arguments of the condition.
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

// parts calls fn for each part of a table, in the order of the column of k.
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

// ends returns the last value of each part of a table, except for the last part, which has no upper
// bound. All checks read the same snapshot, so ends stores the values for all checks.
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
		}, `SELECT `+k.column+` FROM `+k.table+` WHERE `+where+` ORDER BY `+k.column+` LIMIT 1 OFFSET ?`,
			append(args, c.portion-1)...)
		if err != nil {
			return nil, err
		}
		if len(all) == before {
			c.known[name] = all
			return all, nil
		}
	}
}

// eachIn runs a query for each part of a key, and calls fn for every row. It replaces a column in
// braces, such as {v.id}, with the condition that the column is in the part. If the query sorts by
// this column first, the rows arrive in this order across all parts.
func (c *checker) eachIn(ctx context.Context, k key, fn func(scan row) error, query string, args ...any) error {
	return c.parts(ctx, k, func(p part) error {
		text, all := p.put(query, args)
		return c.each(ctx, fn, text, all...)
	})
}

// put replaces each {column} in a query with the condition that the column is in the part. It
// returns the new query, and the arguments in the order of their placeholders.
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

// The keys that several checks use.
var (
	byAsset   = key{table: "asset", column: "id"}
	byVersion = key{table: "asset_version", column: "id"}
	byMoment  = key{table: "asset_version", column: "moment"}
	byAudit   = key{table: "audit", column: "id"}
)

// ofType returns a key like byAsset that reads only the assets of a type.
func ofType(code int) key {
	return key{"asset", "id", "type = ?", []any{code}}
}

// edges describes all rows of asset_link or asset_value, or only the rows with one code.
type edges struct {
	table, column string // column contains the code of the relation or attribute
	code          int    // the code of the rows; 0: all rows
}

var (
	links  = edges{table: "asset_link", column: "relation"}
	values = edges{table: "asset_value", column: "attribute"}
)

// of returns the edges of one relation or attribute. code is the code of that relation or
// attribute.
func (e edges) of(code int) edges { return edges{e.table, e.column, code} }

// eachEdge does the same as eachIn for edges, in the order of their primary key. The query must
// contain the condition {from_id}. After this condition, it must compare the code and from_type
// with two placeholders. eachEdge adds the values of these placeholders to args.
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

// fromTypes returns the distinct values of from_type of the edges with a code.
func (c *checker) fromTypes(ctx context.Context, e edges, code int) ([]int, error) {
	return c.distinct(ctx, e.table, "from_type", e.column+" = ?", code)
}

// distinct returns the distinct values of a column, in ascending order, of the rows that meet a
// condition. It runs one statement for each value, so the column must have few values. It needs an
// index on the columns of the condition, followed by this column.
func (c *checker) distinct(ctx context.Context, table, column, where string, args ...any) (all []int, err error) {
	for more := ""; ; more = " AND " + column + " > ?" {
		var next *int
		err := c.each(ctx, func(scan row) error { return scan(&next) },
			`SELECT MIN(`+column+`) FROM `+table+` WHERE `+where+more, args...)
		if err != nil || next == nil {
			return all, err
		}
		args = append(args[:len(args)-min(len(all), 1)], *next)
		all = append(all, *next)
	}
}
