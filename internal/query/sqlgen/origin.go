package sqlgen

import "github.com/alds-dev/alds/internal/query"

// origin describes where the rows of a statement come from, so that a hierarchy starts there
// instead of at all assets. At most one of ids, one and common is set. If none of them is set, the
// statement reads all rows.
type origin struct {
	column query.Expr // the column of the statement with the id of the rows, or of their parents

	ids     []int64    // a block of ids
	moments []int64    // the moments of ids, for a branch
	one     query.Expr // the argument that is the only id
	common  string     // the common table of the ids
}

// isOf reports whether a hierarchy is joined to the rows of the origin.
func (o origin) isOf(t *query.Table) bool {
	column, ok := o.column.(query.ColumnOf)
	key, _ := t.Key.(query.Compare)
	return ok && (column.T == t || key.R == query.Expr(column))
}

// isCommonFor reports whether the recursion of a hierarchy starts at a common table.
func (o origin) isCommonFor(t *query.Table) bool {
	return o.common != "" && len(t.Ends) == 0 && o.isOf(t)
}

// startsOf returns the condition on the ids at which the recursion of a hierarchy starts. It
// returns nil if the recursion starts at all assets.
func (e *emitter) startsOf(t *query.Table) []any {
	o := e.origin
	switch {
	case len(t.Ends) > 0:
		return []any{" IN ", t.Ends}
	case !o.isOf(t):
		return nil
	case o.common != "":
		return []any{" IN (SELECT id FROM ", e.reads(o.common), ")"}
	case o.one != nil:
		return []any{" = ", o.one}
	case o.ids != nil:
		return []any{" IN ", o.ids}
	}
	return nil
}
