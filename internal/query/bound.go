package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// Bound is a request with its names resolved against the model and its values typed.
type Bound struct {
	Type     *meta.Type   // of the rows; may be abstract
	Only     []*meta.Type // the concrete types of the rows
	Via      Path         // nested select: the relation from the outer row
	ID       *int64       // the stored id, if the query is about one asset
	Moment   *int64       // its version; nil for the current one
	Columns  []BoundColumn
	Filter   *Cond         // nil: every row
	Among    []int64       // see Request.Among
	Groups   []BoundColumn // nested selects whose rows contain these rows
	Sort     []BoundSort
	Page     *Page
	AsOf     Text
	Deleted  bool // the filter itself selects deleted assets or excludes them
	One      bool
	Search   bool // find is part of Filter
	Momented bool // references include the moment of the related version
	Rest     bool // the rest-1 form; the references History and Prior always include the moment
	History  bool // all versions are rows; with AsOf, only the version of that time
	shared   bool // bound for all requests of one shape: values are slots
}

// BoundColumn is one selected token or nested select.
type BoundColumn struct {
	Name string // the key of the row, as the client wrote it
	Path Path
	Sub  *Bound
}

// BoundSort is one term of the order.
type BoundSort struct {
	Path Path
	Desc bool
}

// Path is a bound attribute token. It follows relations from On, then reads its leaf.
type Path struct {
	Text  string       // as it is printed, without a type prefix
	On    *meta.Type   // where it starts; below the type of the row if the token had a prefix
	Only  []*meta.Type // the row types that have a value; nil: all
	Steps []Step
	Leaf  Leaf
	Agg   Agg
	Def   *meta.Attr // the definition of the token's last name, which may be derived from others
}

// Step follows one relation.
type Step struct {
	Attr    *meta.Attr
	Of      []*meta.Attr // partial attribute: the attributes of the types that have it
	Types   []*meta.Type // the types that have it; nil if no other types must be excluded
	To      *meta.Type   // the type of the related asset
	Only    []*meta.Type // the only concrete types; nil if the relation allows no others
	Now     bool         // the related asset as it is now
	Filter  *Cond        // the condition on related assets
	Deleted bool         // includes deleted assets
	All     bool         // includes assets that the member does not read
}

// Leaf is what a path reads after its steps. The zero Leaf is the related asset itself.
type Leaf struct {
	Attr *meta.Attr // a stored or system value
	Cond *Cond      // a Boolean that a condition computes
	Path *Path      // a separate value: an aggregate over related assets, or a value of a related asset

	Union *Union // a value stored elsewhere for each type
}

// Union is a value that is stored or computed in a different place for each type of the asset.
// Types without a case have no value.
type Union struct {
	Attr  *meta.Attr // common to all cases
	Cases []Case
}

// Case is the place of a value for some types.
type Case struct {
	Types []*meta.Type
	Leaf  Leaf
	of    *meta.Attr // the attribute of the first type
}

// attr describes the value of the leaf. It is nil for a condition, an aggregate or an asset.
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
	Right *Right // a leaf in place of Term: a right of the member who runs the query
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
	Int  int64      // Int, Micros, State; Ref: the stored id
	Type *meta.Type // Ref, TypeName
	slot Slot       // of a value that differs between requests of one shape; 0: none
}

// ValueKind selects the fields of a Value that are used.
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
	ContextOf                  // the asset around the brackets
)

// Lists reports whether a column has several values. Such a column needs its own statement.
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

// reaches reports whether the path ends with a relation that may refer to a t.
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

// isWhole reports whether the path gives a Numeric that is always a whole number. It never
// equals a decimal and is never compared with one: MySQL 9.7 rounds decimals in a list that is
// compared with an integer expression.
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
