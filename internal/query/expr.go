package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// LikeOp is the operator of CompareAny that matches patterns.
const LikeOp = "LIKE"

// Expr is one SQL expression or condition. Only the types of this file implement it. The method
// parts calls a Visitor with the direct parts of the expression.
type Expr interface{ parts(v Visitor) }

// Visitor is called with the direct parts of an expression: the expressions in it, the tables that
// it reads, and the statements inside it.
type Visitor interface {
	Expr(x Expr)
	Table(t *Table)
	Select(s *Select)
}

// Walk calls v with the direct parts of x, in a fixed order.
func Walk(x Expr, v Visitor) { x.parts(v) }

// The expressions.
type (
	// ColumnOf reads a column.
	ColumnOf struct {
		T    *Table
		Name string
	}
	// JSON reads a key of the column attrs, as a value of the SQL type for Kind.
	JSON struct {
		T    *Table
		Key  string
		Kind meta.Kind
	}
	// JSONText reads a key of the column attrs as text, for printing.
	JSONText struct {
		T   *Table
		Key string
	}
	// Arg is a value of the client, or the Slot of such a value. It is never SQL text.
	Arg struct{ V any }
	// Num is a whole number of the model.
	Num struct{ N int64 }
	// Null is NULL.
	Null struct{}
	// ActorID is the stored id of the member who runs the query.
	ActorID struct{}
	// Bounded is X, limited to the range from -value.MaxNumber to value.MaxNumber. Numbers that
	// were written before this limit existed may be larger, and their sums would be infinite.
	Bounded struct{ X Expr }
	// Minus is L minus R.
	Minus struct{ L, R Expr }
	// Compare is L Op R with an SQL operator.
	Compare struct {
		Op   string
		L, R Expr
	}
	// In holds when X is one of List. If Bytes is true, texts are compared byte by byte.
	In struct {
		X     Expr
		List  []Expr
		Not   bool
		Bytes bool
	}
	// InIDsOfType holds when X is one of IDs, and X is the id of an asset of one of Types.
	InIDsOfType struct {
		X     Expr
		IDs   []Expr
		Types []*meta.Type
	}
	// CompareAny holds when the comparison X Op v holds for a value v of List. Op is an SQL
	// operator or LikeOp.
	CompareAny struct {
		X    Expr
		Op   string
		List []Expr
	}
	// IsNull holds when X is NULL.
	IsNull struct {
		X   Expr
		Not bool
	}
	// Like holds when X matches Pattern. Simple is true if the pattern is short and has wildcards
	// only at its ends.
	Like struct {
		X       Expr
		Pattern Arg
		Simple  bool
	}
	// All holds when every condition holds. It also holds without conditions.
	All []Expr
	// Any holds when at least one condition holds.
	Any []Expr
	// Not holds when X is false or NULL.
	Not struct{ X Expr }
	// If has the value X if its condition holds, otherwise NULL.
	If struct{ If, X Expr }
	// Switch has the value of the first If whose condition holds. If no condition holds, it is
	// NULL.
	Switch []If
	// Number is the number in a text, as the SQL type of Kind.
	Number struct {
		X    Expr
		Kind meta.Kind
	}
	// Clock is the database's time, in UTC microseconds.
	Clock struct{}
	// Coalesce is X, or Else if X is NULL.
	Coalesce struct{ X, Else Expr }
	// Days is the time between two instants, as a number of days. If Written is true, it is a text
	// such as "3 Days".
	Days struct {
		From, To Expr
		Written  bool
	}
	// BoolInt is a condition as 1 or 0.
	BoolInt struct{ X Expr }
	// Exists holds when the statement has a row.
	Exists struct {
		S   *Select
		Not bool
	}
	// InLookup holds when X is one of the ids that the lookup By found. If the lookup did not run
	// or found too many ids, the condition Else is used instead.
	InLookup struct {
		X    Expr
		By   *Lookup
		Else Expr
	}
	// Scalar is the only cell of a statement.
	Scalar struct{ S *Select }
	// Collated is text that sorts like a text column. The text of a sub-select needs this, because
	// it does not have the collation of its column.
	Collated struct{ X Expr }

	// Beginning is the first MaxSortText characters of a text.
	Beginning struct{ X Expr }
	// Bytes is text that is compared byte by byte.
	Bytes struct{ X Expr }
	// Folded is the folded form of the text X (package folding). T is the table that stores folded
	// forms, under the key Key. T is nil if the folded form of such a text is never stored.
	Folded struct {
		X   Expr
		T   *Table
		Key string
	}
	// Func is an aggregate function of X. If X is nil, it counts rows.
	Func struct {
		Name     string
		Distinct bool
		X        Expr
	}
	// TypeOrder is the position of the row's type in the sorted names of types.
	TypeOrder struct{ T *Table }
	// IDOfType is ID if it is the id of an asset of one of Types, else NULL.
	IDOfType struct {
		ID    Arg
		Types []*meta.Type
	}
	// Visible holds when a member may read the scope (project) of the row. For rows without a scope
	// it holds if Strict is false. By is the id of the member; nil: the member who runs the query.
	Visible struct {
		T      *Table
		Strict bool
		By     Expr
	}
	// OfReadType holds when the access token of the member who runs the query allows reading assets
	// of the type of the row.
	OfReadType struct{ T *Table }
	// Granted is a condition on the rights of the member who runs the query. Package sqlgen inserts
	// the member's roles when it writes the condition.
	Granted struct{ X Expr }
	// RoleIn is used inside Granted. It holds when the member's role in the scope of the row is one
	// of Roles.
	RoleIn struct {
		T     *Table
		Roles meta.RoleSet
	}
	// HasRole is used inside Granted. It holds when the member has one of Roles in any scope or in
	// the whole system. If System is true, only roles in the whole system count.
	HasRole struct {
		Roles  meta.RoleSet
		System bool
	}
	// SeesMember holds when the member with the id By sees the member with the id ID. By is nil for
	// the member who runs the query.
	SeesMember struct{ ID, By Expr }
	// SeesAll holds when the member with the id By sees all assets.
	SeesAll struct{ By Expr }
	// NotHidden holds when the row is in no hidden project at the time at which the row is read. A
	// project is hidden if it, or a project above it, is deleted. Strict is true if every row has a
	// scope.
	NotHidden struct {
		T      *Table
		Strict bool
	}
)

func each(v Visitor, list []Expr) {
	for _, x := range list {
		v.Expr(x)
	}
}

func (x ColumnOf) parts(v Visitor)    { v.Table(x.T) }
func (x JSON) parts(v Visitor)        { v.Table(x.T) }
func (x JSONText) parts(v Visitor)    { v.Table(x.T) }
func (Arg) parts(Visitor)             {}
func (Num) parts(Visitor)             {}
func (Null) parts(Visitor)            {}
func (ActorID) parts(Visitor)         {}
func (Clock) parts(Visitor)           {}
func (x IDOfType) parts(v Visitor)    { v.Expr(x.ID) }
func (x Bounded) parts(v Visitor)     { v.Expr(x.X) }
func (x Minus) parts(v Visitor)       { v.Expr(x.L); v.Expr(x.R) }
func (x Compare) parts(v Visitor)     { v.Expr(x.L); v.Expr(x.R) }
func (x In) parts(v Visitor)          { v.Expr(x.X); each(v, x.List) }
func (x InIDsOfType) parts(v Visitor) { v.Expr(x.X); each(v, x.IDs) }
func (x CompareAny) parts(v Visitor)  { v.Expr(x.X); each(v, x.List) }
func (x IsNull) parts(v Visitor)      { v.Expr(x.X) }
func (x Like) parts(v Visitor)        { v.Expr(x.X); v.Expr(x.Pattern) }
func (x All) parts(v Visitor)         { each(v, x) }
func (x Any) parts(v Visitor)         { each(v, x) }
func (x Not) parts(v Visitor)         { v.Expr(x.X) }
func (x If) parts(v Visitor)          { v.Expr(x.If); v.Expr(x.X) }
func (x Number) parts(v Visitor)      { v.Expr(x.X) }
func (x Coalesce) parts(v Visitor)    { v.Expr(x.X); v.Expr(x.Else) }
func (x Days) parts(v Visitor)        { v.Expr(x.From); v.Expr(x.To) }
func (x BoolInt) parts(v Visitor)     { v.Expr(x.X) }
func (x Exists) parts(v Visitor)      { v.Select(x.S) }
func (x Scalar) parts(v Visitor)      { v.Select(x.S) }
func (x InLookup) parts(v Visitor)    { v.Expr(x.X); v.Expr(x.Else) }
func (x Collated) parts(v Visitor)    { v.Expr(x.X) }
func (x Beginning) parts(v Visitor)   { v.Expr(x.X) }
func (x Bytes) parts(v Visitor)       { v.Expr(x.X) }
func (x TypeOrder) parts(v Visitor)   { v.Table(x.T) }
func (x NotHidden) parts(v Visitor)   { v.Table(x.T) }
func (x OfReadType) parts(v Visitor)  { v.Table(x.T) }
func (x Granted) parts(v Visitor)     { v.Expr(x.X) }
func (x RoleIn) parts(v Visitor)      { v.Table(x.T) }
func (HasRole) parts(Visitor)         {}
func (x SeesAll) parts(v Visitor)     { v.Expr(x.By) }

func (x Visible) parts(v Visitor) {
	if v.Table(x.T); x.By != nil {
		v.Expr(x.By)
	}
}

func (x SeesMember) parts(v Visitor) {
	if v.Expr(x.ID); x.By != nil {
		v.Expr(x.By)
	}
}

func (x Folded) parts(v Visitor) {
	if v.Expr(x.X); x.T != nil {
		v.Table(x.T)
	}
}

func (x Switch) parts(v Visitor) {
	for _, g := range x {
		v.Expr(g)
	}
}

func (x Func) parts(v Visitor) {
	if x.X != nil {
		v.Expr(x.X)
	}
}

// negate returns the condition that holds if x is false or NULL.
func negate(x Expr) Expr {
	switch x := x.(type) {
	case Exists:
		x.Not = !x.Not
		return x
	case IsNull:
		x.Not = !x.Not
		return x
	case Not:
		return x.X
	case All:
		if len(x) == 0 {
			return Any{}
		}
	case Any:
		if len(x) == 0 {
			return All{}
		}
	case In:
		if isNeverNull(x.X) && !slices.ContainsFunc(x.List, func(v Expr) bool { return !isNeverNull(v) }) {
			x.Not = !x.Not
			return x
		}
	case Compare:
		if op, ok := opposite[x.Op]; ok && isNeverNull(x.L) && isNeverNull(x.R) {
			return Compare{op, x.L, x.R}
		}
	}
	return Not{x}
}

var opposite = map[string]string{"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

func isNeverNull(x Expr) bool {
	switch x := x.(type) {
	case Num, Arg, ActorID:
		return true
	case ColumnOf:
		return x.T.Kind == Asset && !x.T.Left && (x.Name == "id" || x.Name == "type" || x.Name == "state" || x.Name == "moment")
	}
	return false
}
