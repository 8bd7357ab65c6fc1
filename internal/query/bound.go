package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// Bound is a request whose names are resolved against the model and whose values are typed.
type Bound struct {
	Type     *meta.Type   // type of the rows; may be abstract
	Only     []*meta.Type // concrete types of the rows
	Via      Path         // of a nested select: the path from the outer row to its rows
	ID       *int64       // stored id, if the query is about one asset; otherwise nil
	Moment   *int64       // moment of the version of that asset; nil: the current version
	Columns  []BoundColumn
	Filter   *Cond         // the condition on the rows; nil: all rows
	Among    []int64       // see Request.Among
	Groups   []BoundColumn // nested selects whose rows contain the rows of the query in the answer
	Sort     []BoundSort
	Page     *Page
	AsOf     Text
	Deleted  bool // true: the filter mentions IsDeleted or AssetState, so deleted assets are not excluded
	One      bool
	Search   bool // true: the condition of find is part of Filter
	Momented bool // true: references include the moment of the related version
	Rest     bool // true: the rest-1 form; the references History and Prior always include the moment
	History  bool // true: all versions are rows; with AsOf, only the version of that time
	shared   bool // true: bound for all requests of one shape, so values have slots
}

// BoundColumn is one selected token or nested select.
type BoundColumn struct {
	Name string // the key of the value in a row of the answer, as the client wrote it
	Path Path
	Sub  *Bound
}

// BoundSort is one term of the sort order.
type BoundSort struct {
	Path Path
	Desc bool
}

// Path is a bound attribute token. It follows relations from On, then reads its leaf.
type Path struct {
	Text  string       // the token without a type prefix
	On    *meta.Type   // type at which the path starts; a subtype of the row's type if the token had a type prefix
	Only  []*meta.Type // types of rows that have a value; nil: all
	Steps []Step
	Leaf  Leaf
	Agg   Agg
	Def   *meta.Attr // definition of the attribute at the end of the token; it may be derived from other attributes
}

// Step follows one relation.
type Step struct {
	Attr    *meta.Attr
	Of      []*meta.Attr // only for an attribute that some types lack: the attribute of each type that has it
	Types   []*meta.Type // the types of the attributes in Of; nil if rows of other types need not be excluded
	To      *meta.Type   // the type of the related asset
	Only    []*meta.Type // concrete types of the related asset after narrowing; nil: all that the relation allows
	Now     bool         // true: the related asset is read as it is now
	Filter  *Cond        // the condition on related assets
	Deleted bool         // true: deleted assets are included
	All     bool         // true: assets that the member does not see are included
}

// Leaf is what a path reads after its steps. The zero Leaf is the related asset itself.
type Leaf struct {
	Attr *meta.Attr // a value that is stored, or that the system provides for every asset
	Cond *Cond      // a Boolean that a condition computes
	Path *Path      // a value with steps of its own: an aggregate over related assets, or a value of a related asset

	Union *Union // a value that is stored in a different place for each type
}

// Union is a value that is stored or computed in a different place for each type of the asset.
// Types without a case have no value.
type Union struct {
	Attr  *meta.Attr // describes the value of all cases
	Cases []Case
}

// Case is the place of a value for some types.
type Case struct {
	Types []*meta.Type
	Leaf  Leaf
	of    *meta.Attr // the attribute of the first type in Types
}

// attr returns the attribute that describes the value of the leaf. It is nil for a condition, an
// aggregate or an asset.
func (l Leaf) attr() *meta.Attr {
	if l.Union != nil {
		return l.Union.Attr
	}
	return l.Attr
}

// Cond is a bound filter.
type Cond struct {
	Op    token.Op
	Kids  []Cond
	Term  Term
	Right *Right // if not nil, used in place of Term: a right of the member who runs the query
}

// Term is one comparison of a path with typed values.
type Term struct {
	Path   Path
	Test   token.Test
	Values []Value
}

// Value is one typed value of a comparison.
type Value struct {
	Kind ValueKind
	Text string
	Num  float64
	Int  int64      // IntOf: a whole number, UTC microseconds or a state; BoolOf: 0 or 1; RefOf: the stored id
	Type *meta.Type // RefOf, TypeOf
	slot Slot       // slot of a value that differs between requests of one shape; 0: no slot
}

// ValueKind is the kind of a Value. It decides which fields of the Value are used.
type ValueKind uint8

// The kinds of value.
const (
	NoValue   ValueKind = iota // '' : null or empty
	TextOf                     // Text
	NumOf                      // Num
	IntOf                      // Int: a whole number, UTC microseconds or a state
	BoolOf                     // Int: 0 or 1
	DeadOf                     // any state of 200 or more
	RefOf                      // Type and Int
	TypeOf                     // Type
	ContextOf                  // $: the asset of the row, also inside brackets
)

// Lists reports whether the query has groups, or a column with several values. Each of these needs
// a separate statement.
func (q Bound) Lists() bool {
	if len(q.Groups) > 0 {
		return true
	}
	for _, c := range q.Columns {
		if c.Sub != nil || c.Path.Many() {
			return true
		}
	}
	return false
}

// Many reports whether the path may have more than one value.
func (p Path) Many() bool {
	if p.Agg != None {
		return false
	}
	for _, s := range p.Steps {
		if s.Attr.Multi {
			return true
		}
	}
	return p.Leaf.Attr != nil && p.Leaf.Attr.Multi
}

// IsRelation reports whether the path ends in an asset.
func (p Path) IsRelation() bool {
	return p.Agg == None && p.Leaf == Leaf{}
}

// To returns the type at the end of the steps.
func (p Path) To() *meta.Type {
	if len(p.Steps) == 0 {
		return p.On
	}
	return p.Steps[len(p.Steps)-1].To
}

// reaches reports whether the path ends with a relation that may refer to an asset of type t.
func (p Path) reaches(t *meta.Type) bool {
	if len(p.Steps) == 0 {
		return false
	}
	last := p.Steps[len(p.Steps)-1]
	return last.Only == nil && last.Attr.Reaches(t)
}

// Kind returns the kind of the path's value.
func (p Path) Kind() meta.Kind {
	switch p.Agg {
	case Sum, Count, DistinctCount, Min, Max:
		return meta.Numeric
	case MinDate, MaxDate:
		return meta.Date
	case AllOf, AnyOf:
		return meta.Boolean
	case MaxState:
		return meta.State
	}
	switch {
	case p.Leaf.Cond != nil:
		return meta.Boolean
	case p.Leaf.Path != nil:
		return p.Leaf.Path.Kind()
	case p.Leaf.attr() != nil:
		return p.Leaf.attr().Kind
	}
	return meta.Relation
}

// isWhole reports whether the value of the path is a Numeric that is always a whole number. Such a
// value never equals a number with decimals. Statements do not compare the two, because MySQL 9.7
// rounds numbers with decimals in a list that is compared with an integer expression.
func (p Path) isWhole() bool {
	switch p.Agg {
	case Count, DistinctCount:
		return true
	case Sum, Min, Max:
		p.Agg = None
		return p.isWhole() || p.Kind() != meta.Numeric
	}
	if u := p.Leaf.Union; u != nil {
		return !slices.ContainsFunc(u.Cases, func(c Case) bool { return !Path{Leaf: c.Leaf}.isWhole() })
	}
	return p.Leaf.Path != nil && p.Leaf.Path.isWhole()
}

// dayOnly reports whether the values of the path are days without a time.
func (p Path) dayOnly() bool {
	a := p.Leaf.attr()
	return a != nil && a.DateOnly
}
