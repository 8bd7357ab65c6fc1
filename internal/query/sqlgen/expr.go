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
		case *emitter:
			e.include(p)
		default:
			panic(fmt.Sprintf("sqlgen: %T is no SQL", p))
		}
	}
}

// include writes what another emitter of the same statement has written.
func (e *emitter) include(other *emitter) {
	e.b.WriteString(other.b.String())
	e.args = append(e.args, other.args...)
	e.commons = append(e.commons, other.commons...)
}

// expr writes an expression: a value or a condition.
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

// cond writes a condition.
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
	case query.OfReadType:
		e.ofReadType(x)
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
	case inCommon:
		e.write(x.ColumnOf, " IN (SELECT id FROM ", e.reads(x.table), ")")
	case direct:
		e.write("EXISTS (", x.s, ")")
	case fixed:
		e.write(x.text)
	default:
		panic(fmt.Sprintf("sqlgen: no case for %T", x))
	}
}

func (e *emitter) column(x query.ColumnOf) {
	if name, ok := e.replaced.columns[x]; ok {
		e.write(name)
		return
	}
	e.write(e.inRow(x.T, x.Name))
}

// inRow returns a column of a row as SQL. A long text of a version may be stored in another table.
// It sorts and compares like a text in the row.
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

// like writes a comparison with a pattern. The function of the dialect matches every pattern. The
// server's own LIKE is faster, but it ignores case only for ASCII letters. So LIKE is used if the
// pattern is simple and the folded form of the text differs from the text only in the case of ASCII
// letters. The column folded is then NULL.
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

// matches writes the condition that a text matches a pattern. The pattern is an expression or SQL
// text.
func (e *emitter) matches(text query.Expr, pattern any) {
	if f := e.Dialect.LikeFunction; f != "" {
		e.write(f, "(", pattern, ", ", text, ", '|')")
		return
	}
	e.write(text, " LIKE ", pattern, escape)
}

// escape ends a LIKE. The patterns of plans use "|" as escape character.
const escape = " ESCAPE '|'"

// maxJoined is the maximum number of EXISTS conditions of a statement that a server may turn into
// joins. With more, MariaDB and MySQL compare the orders of these joins until the connection times
// out.
const maxJoined = 2

// exists writes an EXISTS condition. If the condition is compared with a number, servers do not
// turn it into a join. MySQL turns a condition with IS TRUE into a join, and also NOT EXISTS.
func (e *emitter) exists(x query.Exists) {
	if table, key := e.shared(x.S, true); table != "" {
		e.isIn(key, table, x.Not)
		return
	}
	if !x.Not && e.Dialect.ListsNamed && e.inList(x.S) {
		return
	}
	guard := e.guards() || e.page.tests || !x.Not && isFoundBySelect(x.S.From)
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

// inList writes the condition of a sub-select about named assets as a list: a column of the row is
// one of the values that belong to these assets. SQLite would otherwise run the sub-select for
// every row. inList returns false, and writes nothing, if the sub-select does not have the form for
// that.
func (e *emitter) inList(s *query.Select) bool {
	key, _ := s.From.Key.(query.Compare)
	by, _ := key.L.(query.ColumnOf)
	up, ok := key.R.(query.ColumnOf)
	if !ok || by.T != s.From || by.Name == "id" || !slices.ContainsFunc(s.Where, namesAssets) || readsOuter(s, up.T) {
		return false
	}
	e.replaced.keys[s.From] = up.T
	e.write("(", up, " IN (")
	e.statement(s, []query.Expr{by}, s.Where, nil)
	e.write("))")
	return true
}

// namesAssets reports whether a condition restricts an id to known values.
func namesAssets(x query.Expr) bool {
	var id query.Expr
	switch x := x.(type) {
	case query.Compare:
		if _, named := x.R.(query.Arg); named && x.Op == "=" {
			id = x.L
		}
	case query.In:
		if !x.Not {
			id = x.X
		}
	case query.InLookup:
		if x.By.Known {
			id = x.X
		}
	}
	c, ok := id.(query.ColumnOf)
	return ok && c.Name == "id"
}

// readsOuter reports whether a sub-select depends on rows of t, or on other outer rows. The key of
// the sub-select and the types of the rows of t do not count.
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

// ofTypes replaces each comparison with the type of a row of t. The new condition is that the
// value is one of the types that these rows may have.
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

// isFoundBySelect reports whether the key of a table is a sub-select. MariaDB does not turn such a
// condition into a join.
func isFoundBySelect(t *query.Table) bool {
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

// foldedColumn returns the column with the folded form of a text; "" if no table stores it.
func (e *emitter) foldedColumn(x query.Folded) string {
	switch {
	case x.T == nil:
		return ""
	case x.Key == "":
		return e.inRow(x.T, "folded")
	}
	return e.Dialect.JSONText(e.inRow(x.T, "folded"), x.Key)
}

// jsonText returns the text of a key of attrs.
func (e *emitter) jsonText(x query.JSONText) string {
	return e.Dialect.JSONText(e.inRow(x.T, "attrs"), x.Key)
}

// json returns the value of a key of attrs, as the SQL type that comparisons need.
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

// days writes a span of time in days. The text form has a whole number. It is exact, because the
// dates of this form have no time of day.
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

// typeOrder writes the position of the row's type among the names of all types that the table
// may have.
func (e *emitter) typeOrder(x query.TypeOrder) {
	types := slices.SortedFunc(slices.Values(x.T.Of), func(a, b *meta.Type) int { return strings.Compare(a.Name, b.Name) })
	e.write("CASE ", e.aliasOf(x.T), ".type")
	for i, t := range types {
		e.write(" WHEN ", strconv.Itoa(t.Code), " THEN ", strconv.Itoa(i))
	}
	e.write(" END")
}
