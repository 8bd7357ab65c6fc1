package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// Plan is a bound query as tables, conditions and cells: one statement, and
// one more for each branch. Package sqlgen writes the statements.
type Plan struct {
	Type *meta.Type
	Page *Page
	One  bool
	Body
	Groups  []int  // the branches whose rows stand around these, outermost first
	Keys    int    // the first cell of what rows sort by, where Page.After asks for it
	Resume  []Expr // the rows of this page come after those before
	mark    string
	Lookups []*Lookup // asked before the rows
	Narrow  bool      // a page is found sooner by ids alone than with whole rows
}

// Body is one statement and how its cells make rows.
type Body struct {
	Select
	Columns  []Column
	Branches []*Branch
	AtCell   int // the cell with the moment that branches read a row's surroundings at
}

// Branch is the further statement that fetches a to-many column, or a nested
// select, for a block of parents.
type Branch struct {
	Body
	rowTable *Table // whose rows are the values or the nested rows
	outer    *Table // the row that a list hangs on
	joins    *joins
}

// The cells every statement begins with. Those of the parent stand in branches
// only; ParentMoment only where every row has its own moment.
const (
	CellID = iota
	CellType
	CellMoment
	CellParent
	CellParentMoment
)

// Column is how one selected token comes out of the cells of a row.
type Column struct {
	Name   string
	Attr   *meta.Attr // the value's definition, nil for aggregates, tests and assets
	Kind   meta.Kind
	Cell   int          // of the value; of the id for a relation
	Typed  int          // relation: the cell of the type code, or -1
	Ref    *meta.Type   // relation without that cell: the one type it can have
	Only   []*meta.Type // the row types that have the column, nil for all
	Branch int          // index of the branch that has the values, or -1
	Item   int          // the column of that branch, or -1 for whole rows
}

// Many reports whether the column is a list.
func (c Column) Many() bool { return c.Branch >= 0 }

// Select is one SELECT.
type Select struct {
	From   *Table
	Parent Expr // branch: the id of the parent; else the id of the row
	// Moment is the parent's moment where every row has its own, else nil.
	Moment Expr
	Cells  []Expr
	Where  []Expr
	Order  []Order
}

// Lookup is a small statement asked before the one it serves, for the scopes a
// condition on a tree of scopes comes down to.
type Lookup struct {
	Select
	Found []int64
	Known bool // Found is all there is
}

// MaxLookup is the most ids a lookup brings into a statement.
const MaxLookup = 200

// Order is one term of ORDER BY.
type Order struct {
	X    Expr
	Desc bool
}

// Table is one table of a statement with those joined to it. Its identity is
// its address.
type Table struct {
	Kind  TableKind
	Of    []*meta.Type // Asset: the concrete types its rows can have
	Typed bool         // Asset: that has to be checked
	When  When
	Key   Expr   // how it hangs on the table before it; nil for the first of an outermost statement
	On    []Expr // further conditions
	Left  bool   // an outer join
	Joins []*Table
	Tree  *meta.ClosureOf // Tree: the hierarchy it follows
	Ends  []int64         // Tree: the only ids that matter, so that it is followed back from them

	gone bool // the parent of a branch, which its statement does not have
}

// TableKind says what rows a table has.
type TableKind uint8

// The kinds of table.
const (
	Asset     TableKind = iota // asset, or asset_version
	Link                       // asset_link
	Values                     // asset_value
	ScopeTree                  // scope_closure
	Tree                       // pairs (root, id) of another hierarchy, by recursion
	Audit                      // audit
	Pairs                      // the block of parents of a branch: id and moment
)

// When is the time a table is read at.
type When struct {
	Mode   Mode
	Moment int64  // At
	Base   *Table // Each: the version whose moment counts
}

// Mode is how time enters a statement.
type Mode uint8

// The modes.
const (
	Now     Mode = iota // what is current
	At                  // what was at one moment
	Each                // what was at the moment of another table's row
	Version             // every version, on its own
)

// LikeOp is the operator of SomeOf that fits patterns.
const LikeOp = "LIKE"

// Expr is one SQL expression or condition. The set is closed.
type Expr interface{ isExpr() }

// The expressions.
type (
	// ColumnOf reads a column.
	ColumnOf struct {
		T    *Table
		Name string
	}
	// JSON reads a key of asset.attrs, as the SQL type of Kind.
	JSON struct {
		T    *Table
		Key  string
		Kind meta.Kind
	}
	// Raw reads a key of asset.attrs as text, for printing.
	Raw struct {
		T   *Table
		Key string
	}
	// Arg is a value of the client, or the Slot of one. It never becomes SQL text.
	Arg struct{ V any }
	// Num is a whole number of the model.
	Num struct{ N int64 }
	// Nothing is NULL.
	Nothing struct{}
	// Self is the id of the member who asks.
	Self struct{}
	// Minus is L less R.
	Minus struct{ L, R Expr }
	// Compare is L Op R with an SQL operator.
	Compare struct {
		Op   string
		L, R Expr
	}
	// In holds when X is one of List. Bytes says that they are texts that compare
	// byte by byte.
	In struct {
		X     Expr
		List  []Expr
		Not   bool
		Bytes bool
	}
	// StoredIn holds when X is one of IDs and the id of an asset of one of the types.
	StoredIn struct {
		X     Expr
		IDs   []Expr
		Types []*meta.Type
	}
	// SomeOf holds when X compares with one of List by an SQL operator, which
	// may be LikeOp.
	SomeOf struct {
		X    Expr
		Op   string
		List []Expr
	}
	// IsNull holds when X is NULL.
	IsNull struct {
		X   Expr
		Not bool
	}
	// LikeText holds when X fits the pattern.
	LikeText struct {
		X       Expr
		Pattern Arg
	}
	// All holds when every condition does; empty, it holds.
	All []Expr
	// Any holds when one condition does; empty, it does not.
	Any []Expr
	// Not holds when X does not hold, be it false or unknown.
	Not struct{ X Expr }
	// Given is X where a condition holds, else NULL.
	Given struct{ If, X Expr }
	// Switch is X of the first whose condition holds, else NULL.
	Switch []Given
	// Number is text that is a number, read as one of Kind.
	Number struct {
		X    Expr
		Kind meta.Kind
	}
	// Clock is the database's time, in UTC microseconds.
	Clock struct{}
	// Or is X, where that is NULL Else.
	Or struct{ X, Else Expr }
	// Days is the time from From to To in days. Written, it is a whole number
	// with the word behind it.
	Days struct {
		From, To Expr
		Written  bool
	}
	// Truth is a condition as 1 or 0.
	Truth struct{ X Expr }
	// Exists holds when the statement has a row.
	Exists struct {
		S   *Select
		Not bool
	}
	// Looked holds when X is one of what a lookup found; where that was too much
	// to list, or was not asked, when Else does.
	Looked struct {
		X    Expr
		By   *Lookup
		Else Expr
	}
	// Scalar is the one cell of a statement.
	Scalar struct{ S *Select }
	// Collated is text that sorts as the text columns do; a sub-select has lost
	// how its column sorts.
	Collated struct{ X Expr }
	// Bytes is text that compares byte by byte.
	Bytes struct{ X Expr }
	// Folded is the folded form of text (package folding): texts are equal when
	// theirs are. T is the table that keeps the form of texts that need it, nil
	// for text that is always plain; Key the place of this text in it.
	Folded struct {
		X   Expr
		T   *Table
		Key string
	}
	// Func is an aggregate function; X nil counts rows.
	Func struct {
		Name     string
		Distinct bool
		X        Expr
	}
	// TypeOrder is the place of the row's type by name.
	TypeOrder struct{ T *Table }
	// Stored is the id of an asset when it has one of the types, else NULL.
	Stored struct {
		ID    Arg
		Types []*meta.Type
	}
	// Visible holds when the member who asks may see the row. Strict leaves
	// out rows without a scope.
	Visible struct {
		T      *Table
		Strict bool
	}
	// Shown holds when the row lies in no project that is deleted, or below one
	// that is, at the time the row is read at. Strict says that every row has a
	// scope.
	Shown struct {
		T      *Table
		Strict bool
	}
)

func (Shown) isExpr()     {}
func (ColumnOf) isExpr()  {}
func (JSON) isExpr()      {}
func (Raw) isExpr()       {}
func (Arg) isExpr()       {}
func (Num) isExpr()       {}
func (Nothing) isExpr()   {}
func (Self) isExpr()      {}
func (Minus) isExpr()     {}
func (Compare) isExpr()   {}
func (In) isExpr()        {}
func (IsNull) isExpr()    {}
func (StoredIn) isExpr()  {}
func (SomeOf) isExpr()    {}
func (LikeText) isExpr()  {}
func (All) isExpr()       {}
func (Any) isExpr()       {}
func (Not) isExpr()       {}
func (Truth) isExpr()     {}
func (Clock) isExpr()     {}
func (Or) isExpr()        {}
func (Days) isExpr()      {}
func (Given) isExpr()     {}
func (Switch) isExpr()    {}
func (Number) isExpr()    {}
func (Exists) isExpr()    {}
func (Scalar) isExpr()    {}
func (Looked) isExpr()    {}
func (Collated) isExpr()  {}
func (Bytes) isExpr()     {}
func (Folded) isExpr()    {}
func (Func) isExpr()      {}
func (TypeOrder) isExpr() {}
func (Stored) isExpr()    {}
func (Visible) isExpr()   {}

// negate returns the condition that holds exactly when x does not. Where a
// value may be NULL the negation holds for it.
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
	case Num, Arg, Self:
		return true
	case ColumnOf:
		return x.T.Kind == Asset && !x.T.Left && (x.Name == "id" || x.Name == "type" || x.Name == "state" || x.Name == "moment")
	}
	return false
}
