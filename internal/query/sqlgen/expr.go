package sqlgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// write writes SQL text, and the expressions, statements and lists of ids in it.
func (e *emitter) write(parts ...any) {
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			e.b.WriteString(p)
		case *query.Select:
			e.statement(p, p.Cells, p.Where, nil)
		case []int64:
			e.ids(p)
		case query.Expr:
			e.expr(p)
		default:
			panic(fmt.Sprintf("sqlgen: %T is no SQL", p))
		}
	}
}

// expr writes an expression: one that gives a value, or a condition.
func (e *emitter) expr(x query.Expr) {
	switch x := x.(type) {
	case query.ColumnOf:
		e.column(x)
	case query.JSONText:
		e.write(e.jsonText(x))
	case query.JSON:
		e.write(e.json(x))
	case query.Arg:
		e.arg(x.V)
	case query.Num:
		e.write(strconv.FormatInt(x.N, 10))
	case query.Null:
		e.write("NULL")
	case query.ActorID:
		e.arg(e.Visibility.Member)
	case query.Bounded:
		e.write(e.Dialect.Least, "(", e.Dialect.Greatest, "(", x.X, ", -", maxNumber, "), ", maxNumber, ")")
	case query.Minus:
		e.write("(", x.L, " - ", x.R, ")")
	case query.Clock:
		e.write(e.Dialect.NowMicros)
	case query.Coalesce:
		e.write("COALESCE(", x.X, ", ", x.Else, ")")
	case query.Days:
		e.days(x)
	case query.Number:
		e.write("CAST(", x.X, " AS ", castType(x.Kind), ")")
	case query.If:
		e.write("CASE WHEN ", x.If, " THEN ", x.X, " END")
	case query.Switch:
		e.write("CASE")
		for _, c := range x {
			e.write(" WHEN ", c.If, " THEN ", c.X)
		}
		e.write(" END")
	case query.BoolInt:
		e.write("CASE WHEN ", x.X, " THEN 1 ELSE 0 END")
	case query.Scalar:
		e.scalar(x.S)
	case query.Collated:
		e.write(x.X, e.Dialect.Collate)
	case query.Beginning:
		e.write("SUBSTR(", x.X, ", 1, ", query.Num{N: query.MaxSortText}, ")")
	case query.Bytes:
		before, after := e.Dialect.Bytes()
		e.write(before, x.X, after)
	case query.Folded:
		before, after := e.Dialect.Folded(e.foldedColumn(x))
		e.write(before, x.X, after)
	case query.Func:
		e.function(x)
	case query.TypeOrder:
		e.typeOrder(x)
	case notBefore:
		e.write(e.Dialect.Greatest, "(", x.Expr, ", ", query.Arg{V: x.least}, ")")
	case query.IDOfType:
		e.write("(SELECT id FROM asset WHERE id = ", x.ID, " AND type IN ", codesOf(x.Types), ")")
	default:
		e.cond(x)
	}
}

func castType(k meta.Kind) string {
	if value.FormOf(k) == value.Float {
		return "DOUBLE"
	}
	return "SIGNED"
}

// cond writes an expression that holds or does not.
func (e *emitter) cond(x query.Expr) {
	switch x := x.(type) {
	case query.Compare:
		e.write(x.L, " ", x.Op, " ", x.R)
	case query.In:
		e.oneOf(x)
	case query.InIDsOfType:
		e.write(x.X, " IN (SELECT id FROM asset WHERE type IN ", codesOf(x.Types), " AND ")
		e.oneOf(query.In{X: fixed{text: "id"}, List: x.IDs})
		e.write(")")
	case query.CompareAny:
		e.compareAny(x)
	case query.IsNull:
		e.write(x.X, " IS ", notWord(x.Not), "NULL")
	case query.Like:
		e.like(x)
	case query.All:
		e.joined(x, " AND ", "1 = 1")
	case query.Any:
		e.joined(x, " OR ", "1 = 0")
	case query.Not:
		e.write("(", x.X, ") IS NOT TRUE")
	case query.Exists:
		e.exists(x)
	case query.Visible:
		e.visible(x)
	case query.SeesMember:
		e.seesMember(x)
	case query.SeesAll:
		e.seesAll(x.By)
	case query.NotHidden:
		e.notHidden(x)
	case query.Granted:
		e.cond(e.Visibility.decided(x.X))
	case query.HasRole:
		e.cond(e.Visibility.decided(x))
	case query.RoleIn:
		e.roleIn(x)
	case query.InLookup:
		e.inLookup(x)
	case block:
		e.block(x)
	case test:
		e.write("(", x.Expr, ") = 1")
	case unkeyed:
		e.write(e.Dialect.Unkeyed, x.Expr)
	case inSet:
		e.write(x.ColumnOf, " IN (SELECT id FROM ", e.reads(x.set), ")")
	case direct:
		e.write("EXISTS (", x.s, ")")
	case fixed:
		e.write(x.text)
	default:
		panic(fmt.Sprintf("sqlgen: no case for %T", x))
	}
}

func (e *emitter) column(x query.ColumnOf) {
	if name, ok := e.given[x]; ok {
		e.write(name)
		return
	}
	e.write(e.inRow(x.T, x.Name))
}

// inRow is a column of a row as SQL. A text of a version may lie apart, and sorts and
// compares as one that stands in the row.
func (e *emitter) inRow(t *query.Table, column string) string {
	alias := e.aliasOf(t)
	if t.Kind != query.Asset || t.When.Mode == query.Now {
		return alias + "." + column
	}
	text := db.OfVersion(alias, column)
	if column == "description" {
		text = "(" + text + ")" + e.Dialect.Collate
	}
	return text
}

func notWord(not bool) string {
	if not {
		return "NOT "
	}
	return ""
}

// like writes a comparison with a pattern. Where a function matches it, and the text is
// its own folded form but for the case of ASCII, the server's LIKE does the same for
// simple patterns, and is faster.
func (e *emitter) like(x query.Like) {
	text, ok := x.X.(query.Folded)
	if !ok || text.T == nil || !x.Simple || e.Dialect.LikeFunction == "" {
		e.matches(x.X, x.Pattern)
		return
	}
	e.write("CASE WHEN ", e.inRow(text.T, "folded"), " IS NULL THEN ", text.X, " LIKE ", x.Pattern, escape, " ELSE ")
	e.matches(x.X, x.Pattern)
	e.write(" END")
}

// matches writes that a text matches a pattern, an expression or SQL text.
func (e *emitter) matches(text query.Expr, pattern any) {
	if f := e.Dialect.LikeFunction; f != "" {
		e.write(f, "(", pattern, ", ", text, ", '|')")
		return
	}
	e.write(text, " LIKE ", pattern, escape)
}

// escape ends a LIKE: the patterns of plans are escaped by "|".
const escape = " ESCAPE '|'"

// maxJoined is how many existences of a statement a server may turn into joins.
// With many, MariaDB and MySQL weigh their orders until the connection times out.
const maxJoined = 2

// exists writes an existence test. Compared with a number it stays a test: MySQL
// sees through IS TRUE, and makes joins of NOT EXISTS too.
func (e *emitter) exists(x query.Exists) {
	if name, key := e.once(x.S, true); name != "" {
		e.isIn(key, name, x.Not)
		return
	}
	if !x.Not && e.Dialect.ListsNamed && e.found(x.S) {
		return
	}
	guard := e.guards() || e.tests || !x.Not && hangsOnSelect(x.S.From)
	switch {
	case guard:
		e.write("(")
	case x.Not:
		e.write("NOT ")
	}
	e.write("EXISTS (", x.S, ")")
	switch {
	case guard && x.Not:
		e.write(") = 0")
	case guard:
		e.write(") = 1")
	}
}

// hangsOnSelect reports whether a table is found by a sub-select, which MariaDB
// does not take into a semi-join.
// found writes that a row is one of those that named assets lead to, if a sub-select asks
// for that, and reports whether it does: SQLite would ask it of every row.
func (e *emitter) found(s *query.Select) bool {
	key, _ := s.From.Key.(query.Compare)
	by, _ := key.L.(query.ColumnOf)
	up, ok := key.R.(query.ColumnOf)
	if !ok || by.T != s.From || by.Name == "id" || !slices.ContainsFunc(s.Where, namesAssets) || readsOuter(s, up.T) {
		return false
	}
	e.keyless[s.From] = up.T
	e.write("(", up, " IN (")
	e.statement(s, []query.Expr{by}, s.Where, nil)
	e.write("))")
	return true
}

// namesAssets reports whether a condition holds for assets that are named.
func namesAssets(x query.Expr) bool {
	var of query.Expr
	switch x := x.(type) {
	case query.Compare:
		if _, named := x.R.(query.Arg); named && x.Op == "=" {
			of = x.L
		}
	case query.In:
		if !x.Not {
			of = x.X
		}
	case query.InLookup:
		if x.By.Known {
			of = x.X
		}
	}
	c, ok := of.(query.ColumnOf)
	return ok && c.Name == "id"
}

// readsOuter reports whether a sub-select, but for its key, reads more of the rows of t
// than their types, or other rows that it is not about.
func readsOuter(s *query.Select, t *query.Table) bool {
	r := newReads()
	r.own[s.From] = true
	r.at(s.From)
	r.exprs(ofTypes(s.From.On, t))
	for _, j := range s.From.Joins {
		r.from(j)
	}
	r.exprs(s.Where)
	return r.moments || r.outer()
}

// ofTypes replaces conditions that something has the type of a row of t: that it has one
// of their types.
func ofTypes(list []query.Expr, t *query.Table) []query.Expr {
	list = slices.Clone(list)
	for i, x := range list {
		c, _ := x.(query.Compare)
		if up, ok := c.R.(query.ColumnOf); ok && c.Op == "=" && up.T == t && up.Name == "type" && len(t.Of) > 0 {
			list[i] = query.In{X: c.L, List: query.TypeCodes(t.Of)}
		}
	}
	return list
}

func hangsOnSelect(t *query.Table) bool {
	key, _ := t.Key.(query.Compare)
	_, isSelect := key.R.(query.Scalar)
	return isSelect
}

func (e *emitter) joined(list []query.Expr, sign, empty string) {
	switch len(list) {
	case 0:
		e.write(empty)
		return
	case 1:
		e.cond(list[0])
		return
	}
	e.write("(")
	e.separated(list, sign)
	e.write(")")
}

// foldedColumn reads the folded form of a text where its table keeps one.
func (e *emitter) foldedColumn(x query.Folded) string {
	switch {
	case x.T == nil:
		return ""
	case x.Key == "":
		return e.inRow(x.T, "folded")
	}
	return e.Dialect.JSONText(e.inRow(x.T, "folded"), x.Key)
}

// jsonText reads a key of attrs as text, for printing.
func (e *emitter) jsonText(x query.JSONText) string {
	return e.Dialect.JSONText(e.inRow(x.T, "attrs"), x.Key)
}

// json reads a key of attrs in the type comparisons need.
func (e *emitter) json(x query.JSON) string {
	col := e.inRow(x.T, "attrs")
	switch value.FormOf(x.Kind) {
	case value.Float:
		return e.Dialect.JSONNumber(col, x.Key)
	case value.Int:
		return e.Dialect.JSONInt(col, x.Key)
	case value.Bool:
		return e.Dialect.JSONBool(col, x.Key)
	}
	return e.Dialect.JSONText(col, x.Key)
}

// days writes a span of time. Dates have no time of day, so that the whole
// number of a written span is exact.
func (e *emitter) days(x query.Days) {
	const day = 24 * 60 * 60 * 1e6
	if x.Written {
		e.write("CONCAT(CAST(")
	}
	e.write("(", x.To, " - ", x.From, ") / ")
	if x.Written {
		e.write(strconv.Itoa(day), " AS SIGNED), ' Days')")
	} else {
		e.write(strconv.Itoa(day), "e0")
	}
}

// maxNumber is value.MaxNumber.
const maxNumber = "1e100"

func (e *emitter) function(x query.Func) {
	e.write(x.Name, "(")
	if x.Distinct {
		e.write("DISTINCT ")
	}
	if x.X == nil {
		e.write("*")
	} else {
		e.frame.aggregate = true
		e.write(x.X)
		e.frame.aggregate = false
	}
	e.write(")")
}

// typeOrder writes the place of the row's type among the names of all types
// the table can have.
func (e *emitter) typeOrder(x query.TypeOrder) {
	types := slices.SortedFunc(slices.Values(x.T.Of), func(a, b *meta.Type) int { return strings.Compare(a.Name, b.Name) })
	e.write("CASE ", e.aliasOf(x.T), ".type")
	for i, t := range types {
		e.write(" WHEN ", strconv.Itoa(t.Code), " THEN ", strconv.Itoa(i))
	}
	e.write(" END")
}
