package change

import "github.com/alds-dev/alds/internal/model/meta"

// Version is the state of an asset after one write.
type Version struct {
	ID      int64 // stored id
	Type    *meta.Type
	State   int64
	Moment  int64
	Until   int64 // moment of the next version; db.Forever without one
	Audit   int64 // id of the write
	Created int64 // moment of the asset's first version
	Linked  bool  // the write began or ended relation or multi-value rows

	// Columns has the values in the order of meta.Model.Columns: nil, string, int64
	// (references, ranks, microseconds) or float64.
	Columns []any
	// Attrs is the JSON object with the other values; empty for none.
	Attrs string
}

// Edge is one value of a relation or multi-value attribute that began or ended at a version's
// moment.
type Edge struct {
	Attr  *meta.Attr // an attribute of the version's type
	Value any        // int64: the stored id of the other side; string: a multi-value scalar
	Ended bool       // false: it began
}

// Step is one change of one asset.
type Step struct {
	Now    Version
	Before *Version // nil: the asset was created
	Edges  []Edge
}

// IsCreation reports whether the step created the asset.
func (s *Step) IsCreation() bool { return s.Before == nil }

// Act is what happened to a value, as the interface spells it.
type Act string

// The acts. Set is for single values; Added and Removed are for one of several values.
const (
	Set     Act = "Set"
	Added   Act = "Added"
	Removed Act = "Removed"
)

// Change is one difference between two versions.
//
// Shape: Old and New are nil (no value), string, bool, int64 (a stored id when
// Attr is a relation, else a rank, state or UTC microseconds), float64, or
// json.Number.
type Change struct {
	Attr     *meta.Attr
	Act      Act
	Old, New any
}

// Audit selects versions of one write.
// Units: First and Last are moments, both included.
type Audit struct {
	ID, First, Last int64
}
