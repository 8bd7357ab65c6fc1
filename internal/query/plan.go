package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
)

// Plan is a bound query as tables, conditions and cells: one statement, and one more for each
// branch. Package sqlgen writes the statements.
type Plan struct {
	Page *Page
	One  bool
	Body
	Groups    []int  // the branches whose rows contain these rows, outermost first
	Keys      int    // the first cell of the sort keys, if Page.After is set
	Resume    []Expr // the condition that rows come after the previous page
	queryHash string
	Lookups   []*Lookup // run before the rows are read
	Ranked    []Expr    // the condition that rows have a rank; nil if not needed
	IDsFirst  bool      // reading ids first is faster than reading whole rows
	Past      bool      // rows of the past are read, so the horizon of history is needed
	Together  bool      // one statement can read the one asset with the rows of its branches
	ByKey     bool      // rows are sorted by rank or id
	RankAlone bool      // rows are sorted by rank, and restricted only by type
}

// Body is one statement and how its cells become rows.
type Body struct {
	Select
	Columns  []Column
	Branches []*Branch
	AtCell   int // the cell with the moment at which branches read the data around a row
}

// Branch is the statement that reads a to-many column or a nested select, for a block of
// parents.
type Branch struct {
	Body
	rowTable *Table // its rows are the values or the nested rows
	outer    *Table // the row that has the list
	joins    *joins
}

// The first cells of every statement. Only branches have CellParent. They have
// CellParentMoment if every row has its own moment.
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
	Attr   *meta.Attr // the definition of the value; nil for aggregates, tests and assets
	Kind   meta.Kind
	Cell   int          // of the value; of the id for a relation
	Typed  int          // relation: the cell of the type code, or -1
	Ref    *meta.Type   // relation without that cell: its only type
	Only   []*meta.Type // the row types that have the column; nil: all
	Branch int          // index of the branch that has the values, or -1
	Item   int          // the column of that branch, or -1 for whole rows

	MomentCell int // relation: the cell with the moment of the related version; 0: not shown
}

// Many reports whether the column is a list.
func (c Column) Many() bool { return c.Branch >= 0 }

// Select is one SELECT.
type Select struct {
	From   *Table
	Parent Expr // branch: the id of the parent; otherwise the id of the row
	// Moment is the parent's moment if every row has its own; otherwise nil.
	Moment Expr
	Cells  []Expr
	Where  []Expr
	Order  []Order

	// Once marks a sub-select that may read many rows. It should be evaluated once for each asset
	// on which it depends, not for every row that refers to the asset.
	Once bool
}

// Lookup is a small statement that runs before the main statement. It finds the scopes of a
// condition on the tree of scopes. Its only cell has their ids.
type Lookup struct {
	Select
	Found []int64 // in ascending order, without duplicates
	Known bool    // Found is complete
}

// MaxLookup is how many ids a lookup may put into a statement.
const MaxLookup = 200

// Order is one term of ORDER BY.
type Order struct {
	X    Expr
	Desc bool
}

// Table is one table of a statement with the tables joined to it. Its address identifies it.
type Table struct {
	Kind  TableKind
	Of    []*meta.Type // Asset: the concrete types of its rows
	Typed bool         // Asset: the types must be checked
	When  When
	// Key is the condition that joins this table to the table before it; nil for the first table of
	// an outermost statement.
	Key   Expr
	On    []Expr // further conditions
	Left  bool   // an outer join
	Joins []*Table
	Tree  *meta.ClosureOf // Tree: the hierarchy that it follows
	// Ends are the ids from which a Tree is followed backwards; nil: it is followed forwards.
	Ends []int64
	// Gone includes versions from before the horizon: Asset with When.Mode Version.
	Gone bool

	omitted bool // the parent of a branch, if its statement does not need it
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
	Moment int64  // At
	Base   *Table // Each: the table of the version whose moment is used
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
