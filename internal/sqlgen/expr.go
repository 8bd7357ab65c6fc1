package sqlgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/value"
)

// expr writes an expression that gives a value.
func (e *emitter) expr(x query.Expr) {
	switch x := x.(type) {
	case query.ColumnOf:
		e.put(e.aliasOf(x.T), ".", x.Name)
	case query.JSONText:
		e.put(e.jsonText(x))
	case query.JSON:
		e.put(e.json(x))
	case query.Arg:
		e.arg(x.V)
	case query.Num:
		e.put(strconv.FormatInt(x.N, 10))
	case query.Null:
		e.put("NULL")
	case query.ActorID:
		e.arg(e.Visibility.Member)
	case query.Minus:
		e.put("(")
		e.expr(x.L)
		e.put(" - ")
		e.expr(x.R)
		e.put(")")
	case query.Clock:
		e.put(e.Dialect.NowMicros)
	case query.Coalesce:
		e.put("COALESCE(")
		e.expr(x.X)
		e.put(", ")
		e.expr(x.Else)
		e.put(")")
	case query.Days:
		e.days(x)
	case query.Number:
		e.put("CAST(")
		e.expr(x.X)
		if value.FormOf(x.Kind) == value.Float {
			e.put(" AS DOUBLE)")
		} else {
			e.put(" AS SIGNED)")
		}
	case query.If:
		e.put("CASE WHEN ")
		e.cond(x.If)
		e.put(" THEN ")
		e.expr(x.X)
		e.put(" END")
	case query.Switch:
		e.put("CASE")
		for _, g := range x {
			e.put(" WHEN ")
			e.cond(g.If)
			e.put(" THEN ")
			e.expr(g.X)
		}
		e.put(" END")
	case query.BoolInt:
		e.put("CASE WHEN ")
		e.cond(x.X)
		e.put(" THEN 1 ELSE 0 END")
	case query.Scalar:
		e.put("(")
		e.statement(x.S, x.S.Cells, x.S.Where, nil)
		e.put(")")
	case query.Collated:
		e.expr(x.X)
		e.put(e.Dialect.Collate)
	case query.Bytes:
		before, behind := e.Dialect.Bytes()
		e.around(before, x.X, behind)
	case query.Folded:
		before, behind := e.Dialect.Folded(e.foldedColumn(x))
		e.around(before, x.X, behind)
	case query.Func:
		e.function(x)
	case query.TypeOrder:
		e.typeOrder(x)
	case query.IDOfType:
		e.idOfType(x)
	default:
		panic(fmt.Sprintf("sqlgen: %T gives no value", x))
	}
}

// cond writes an expression that holds or does not.
func (e *emitter) cond(x query.Expr) {
	switch x := x.(type) {
	case query.Compare:
		e.expr(x.L)
		e.put(" ", x.Op, " ")
		e.expr(x.R)
	case query.In:
		e.in(x)
	case query.InIDsOfType:
		e.expr(x.X)
		e.put(" IN (SELECT id FROM asset WHERE type IN ", codesOf(x.Types), " AND ")
		e.oneOf(func() { e.put("id") }, query.In{List: x.IDs})
		e.put(")")
	case query.CompareAny:
		e.compareAny(x)
	case query.IsNull:
		e.expr(x.X)
		e.put(" IS ")
		if x.Not {
			e.put("NOT ")
		}
		e.put("NULL")
	case query.Like:
		e.expr(x.X)
		e.put(" LIKE ")
		e.arg(x.Pattern.V)
		e.put(" ESCAPE '|'")
	case query.All:
		e.joined(x, " AND ", "1 = 1")
	case query.Any:
		e.joined(x, " OR ", "1 = 0")
	case query.Not:
		e.put("(")
		e.cond(x.X)
		e.put(") IS NOT TRUE")
	case query.Exists:
		e.exists(x)
	case query.Visible:
		e.visible(x)
	case query.NotHidden:
		e.notHidden(x)
	case query.InLookup:
		if !x.By.Known {
			e.cond(x.Else)
			break
		}
		e.expr(x.X)
		e.put(" IN ")
		e.ids(x.By.Found)
	case block:
		e.expr(x.Expr)
		e.put(" IN ")
		e.ids(x.ids)
	default:
		panic(fmt.Sprintf("sqlgen: %T is no condition", x))
	}
}

// maxJoined is how many existences of a statement a server may turn into joins.
// With many, MariaDB and MySQL weigh their orders until the connection times out.
const maxJoined = 2

// exists writes an existence test. Compared with a number it stays a test: MySQL
// sees through IS TRUE, and makes joins of NOT EXISTS too.
func (e *emitter) exists(x query.Exists) {
	e.existences++
	guard := e.existences > maxJoined || !x.Not && hangsOnSelect(x.S.From)
	switch {
	case guard:
		e.put("(")
	case x.Not:
		e.put("NOT ")
	}
	e.put("EXISTS (")
	e.statement(x.S, x.S.Cells, x.S.Where, nil)
	e.put(")")
	switch {
	case guard && x.Not:
		e.put(") = 0")
	case guard:
		e.put(") = 1")
	}
}

// hangsOnSelect reports whether a table is found by a sub-select, which MariaDB
// does not take into a semi-join.
func hangsOnSelect(t *query.Table) bool {
	key, _ := t.Key.(query.Compare)
	_, isSelect := key.R.(query.Scalar)
	return isSelect
}

func (e *emitter) joined(list []query.Expr, sign, empty string) {
	switch len(list) {
	case 0:
		e.put(empty)
		return
	case 1:
		e.cond(list[0])
		return
	}
	e.put("(")
	for i, x := range list {
		if i > 0 {
			e.put(sign)
		}
		e.cond(x)
	}
	e.put(")")
}

func (e *emitter) in(x query.In) {
	e.oneOf(func() { e.expr(x.X) }, x)
}

func (e *emitter) around(before string, x query.Expr, behind string) {
	e.put(before)
	e.expr(x)
	e.put(behind)
}

// foldedColumn reads the folded form of a text where its table keeps one.
func (e *emitter) foldedColumn(x query.Folded) string {
	switch {
	case x.T == nil:
		return ""
	case x.Key == "":
		return e.aliasOf(x.T) + ".folded"
	}
	return e.Dialect.JSONText(e.aliasOf(x.T)+".folded", x.Key)
}

// jsonText reads a key of attrs as text, for printing.
func (e *emitter) jsonText(x query.JSONText) string {
	return e.Dialect.JSONText(e.aliasOf(x.T)+".attrs", x.Key)
}

// json reads a key of attrs in the type comparisons need.
func (e *emitter) json(x query.JSON) string {
	col := e.aliasOf(x.T) + ".attrs"
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
		e.put("CONCAT(CAST(")
	}
	e.put("(")
	e.expr(x.To)
	e.put(" - ")
	e.expr(x.From)
	e.put(") / ")
	if x.Written {
		e.put(strconv.Itoa(day), " AS SIGNED), ' Days')")
	} else {
		e.put(strconv.Itoa(day), "e0")
	}
}

func (e *emitter) function(x query.Func) {
	e.put(x.Name, "(")
	if x.Distinct {
		e.put("DISTINCT ")
	}
	if x.X == nil {
		e.put("*")
	} else {
		e.expr(x.X)
	}
	e.put(")")
}

// typeOrder writes the place of the row's type among the names of all types
// the table can have.
func (e *emitter) typeOrder(x query.TypeOrder) {
	types := slices.SortedFunc(slices.Values(x.T.Of), func(a, b *meta.Type) int { return strings.Compare(a.Name, b.Name) })
	e.put("CASE ", e.aliasOf(x.T), ".type")
	for i, t := range types {
		e.put(" WHEN ", strconv.Itoa(t.Code), " THEN ", strconv.Itoa(i))
	}
	e.put(" END")
}

// idOfType writes the id of an asset if it has one of the types; the type of an
// asset never changes, so the current row answers for every time.
func (e *emitter) idOfType(x query.IDOfType) {
	e.put("(SELECT id FROM asset WHERE id = ")
	e.arg(x.ID.V)
	e.put(" AND type IN ", codesOf(x.Types), ")")
}
