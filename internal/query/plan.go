package query

import (
	"github.com/alds-dev/alds/internal/meta"
)

// Plan is a bound query as tables, conditions and cells: one statement, and
// one more for each branch. Package sqlgen writes the statements.
type Plan struct {
	Type *meta.Type
	Page *Page
	One  bool
	Body
	Groups    []int  // the branches whose rows contain these, outermost first
	Keys      int    // the first cell of what rows sort by, where Page.After asks for it
	Resume    []Expr // the rows of this page come after those before
	queryHash string
	Lookups   []*Lookup // run before the rows are read
	Ranked    []Expr    // every row of the page has a rank; nil: that need not be said
	IDsFirst  bool      // a page is found faster by its ids than with whole rows
	Past      bool      // something is read that is not, or not only, current: from when on there is history matters
	Together  bool      // one statement can read the one asset with the rows of its branches
	ByKey     bool      // rows are sorted by rank or id
	RankAlone bool      // rows are sorted by rank, and restricted by their type alone
}

// Body is one statement and how its cells become rows.
type Body struct {
	Select
	Columns  []Column
	Branches []*Branch
	AtCell   int // the cell with the moment that branches read a row's surroundings at
}

// Branch is the statement that reads a to-many column, or a nested select, for a
// block of parents.
type Branch struct {
	Body
	rowTable *Table // whose rows are the values or the nested rows
	outer    *Table // the row that a list hangs on
	joins    *joins
}

// The cells that every statement begins with: CellParent in branches only, and
// CellParentMoment where every row has its own moment.
const (
	CellID = iota
	CellType
	CellMoment
	CellParent
	CellParentMoment
)

// Column is how one selected token is read from the cells of a row.
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

	MomentCell int // relation: the cell with the moment of the version it leads to; 0 where none is shown
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

	// Once says of a sub-select that it may have much to read, and is better evaluated
	// once for each asset that it hangs on than for every row that leads to that asset.
	Once bool
}

// Lookup is a small statement that runs before the one it serves. It finds the scopes
// that a condition on the tree of scopes means: the only cell has their ids.
type Lookup struct {
	Select
	Found []int64 // in order, each once
	Known bool    // Found is complete
}

// MaxLookup is the most ids that a lookup puts into a statement.
const MaxLookup = 200

// Order is one term of ORDER BY.
type Order struct {
	X    Expr
	Desc bool
}

// Table is one table of a statement with the tables joined to it. It is identified by
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
	Gone  bool            // Asset of When.Mode Version: versions from before the horizon, too

	omitted bool // the parent of a branch, when its statement does without it
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
	Grants                     // scope_member
	Pairs                      // the block of parents of a branch: id and moment
)

// When is the time at which a table is read.
type When struct {
	Mode   Mode
	Moment int64  // At
	Base   *Table // Each: the version whose moment counts
}

// Mode is the kind of time at which a table is read.
type Mode uint8

// The modes.
const (
	Now     Mode = iota // what is current
	At                  // what was at one moment
	Each                // what was at the moment of another table's row
	Version             // every version, on its own
)
