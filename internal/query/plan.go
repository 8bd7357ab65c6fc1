package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
)

// Plan describes the statements of a bound query: one for its rows, and one for each branch. A
// statement has tables, conditions and cells. Package sqlgen writes the statements as SQL.
type Plan struct {
	Page *Page
	One  bool
	Body
	Groups    []int  // indexes of the branches whose rows contain the rows of the query in the answer, outermost first
	Keys      int    // index of the first cell with a sort key; only used if Page.After is set
	Resume    []Expr // the condition that rows come after the previous page
	queryHash string
	Lookups   []*Lookup // statements that run before the rows are read
	Ranked    []Expr    // the condition that rows have a rank; nil if not needed
	IDsFirst  bool      // true: it is faster to read ids first, and then the rows with these ids
	Past      bool      // true: rows of the past are read, so the horizon of history (package history) is needed
	Together  bool      // true: one statement can read the asset of the query and the rows of its branches
	ByKey     bool      // true: rows are sorted by rank or id
	RankAlone bool      // true: rows are sorted by rank, and restricted only by type
}

// Body is one statement, with the columns that are read from its cells, and with its branches.
type Body struct {
	Select
	Columns  []Column
	Branches []*Branch
	AtCell   int // index of the cell with the moment at which the branches of a row are read
}

// HasLongText reports whether a column of the statement has long texts.
func (b *Body) HasLongText() bool {
	return slices.ContainsFunc(b.Columns, func(c Column) bool { return c.Attr != nil && c.Attr.Kind == meta.LongText && c.Branch < 0 })
}

// Branch is the statement that reads a to-many column or a nested select, for a block of parents. A
// parent is a row of the statement that has the branch.
type Branch struct {
	Body
	rowTable *Table // table of the values or of the nested rows
	outer    *Table // table of the parents
	joins    *joins
}

// The indexes of the first cells of every statement. Only branches have CellParent. A branch also
// has CellParentMoment if each of its parents has its own moment.
const (
	CellID = iota
	CellType
	CellMoment
	CellParent
	CellParentMoment
)

// Column describes how one selected token is read from the cells of a row.
type Column struct {
	Name   string
	Attr   *meta.Attr // definition of the value; nil for aggregates, conditions and assets
	Kind   meta.Kind
	Cell   int          // index of the cell with the value, or with the id of the related asset
	Typed  int          // of a relation: index of the cell with the type code, or -1
	Ref    *meta.Type   // of a relation with Typed -1: the only type of its assets
	Only   []*meta.Type // types of rows that have the column; nil: all
	Branch int          // index of the branch that has the values, or -1
	Item   int          // index of the column in that branch, or -1 if the list has the rows of a nested select

	MomentCell int // of a relation: index of the cell with the moment of the related version; 0: no moment is shown
}

// Many reports whether the column is a list.
func (c Column) Many() bool { return c.Branch >= 0 }

// Select is one SELECT.
type Select struct {
	From   *Table
	Parent Expr // in a branch the id of the parent, otherwise the id of the row
	// Moment is the moment of the asset in Parent, if every such asset has its own moment;
	// otherwise nil.
	Moment Expr
	Cells  []Expr
	Where  []Expr
	Order  []Order

	// Once is true for a sub-select that may read many rows. It should be evaluated once for each
	// asset on which it depends, not once for every row that refers to this asset.
	Once bool
}

// Lookup is a small statement that runs before the main statement. It finds the scopes that satisfy
// a condition on the tree of scopes. Its only cell has the id of a scope.
type Lookup struct {
	Select
	Found []int64 // ids of the scopes, in ascending order, without duplicates
	Known bool    // true: Found is complete; false: the lookup has not run, or there are more than MaxLookup ids
}

// MaxLookup is the maximum number of ids that a lookup may put into a statement.
const MaxLookup = 200

// Order is one term of ORDER BY.
type Order struct {
	X    Expr
	Desc bool
}

// Table is one table of a statement, with the tables joined to it. Its pointer identifies it,
// because a statement may read the same database table several times.
type Table struct {
	Kind  TableKind
	Of    []*meta.Type // Asset: the concrete types of its rows
	Typed bool         // Asset: the statement must check that rows have one of the types in Of
	When  When
	// Key is the condition that joins this table to the table before it. The first table of a
	// sub-select is joined to a table of the outer statement. For the first table of any other
	// statement, Key is nil.
	Key   Expr
	On    []Expr // further conditions of the join
	Left  bool   // true: a LEFT JOIN
	Joins []*Table
	Tree  *meta.ClosureOf // Tree: the hierarchy that it follows
	// Ends are the ids from which a Tree is followed backwards; nil: it is followed forwards.
	Ends []int64
	// Gone is true if versions that ended before the horizon of history are read, too. It is only
	// used for Asset with When.Mode Version.
	Gone bool

	omitted bool // true for the table of the parents of a branch, if the branch's statement does not need it
}

// TableKind is the kind of rows that a table has.
type TableKind uint8

// The kinds of table.
const (
	Asset     TableKind = iota // asset, or asset_version
	Link                       // asset_link
	Values                     // asset_value
	ScopeTree                  // scope_closure
	Tree                       // pairs (root, id) of another hierarchy, by recursion
	Audit                      // audit
	Grants                     // scope_member
	Pairs                      // the block of parents of a branch: id and moment
)

// When is the time at which a table is read.
type When struct {
	Mode   Mode
	Moment int64  // At: the moment
	Base   *Table // Each: the table whose rows have the moments
}

// Mode is the kind of time at which a table is read.
type Mode uint8

// The modes.
const (
	Now     Mode = iota // current rows
	At                  // the rows at one moment
	Each                // the rows at the moment of another table's row
	Version             // every version, each at its own moment
)
