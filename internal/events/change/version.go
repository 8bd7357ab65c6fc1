package change

import "github.com/alds-dev/alds/internal/model/meta"

// Version is the state of an asset after one write.
type Version struct {
	ID      int64 // stored id
	Type    *meta.Type
	State   int64
	Moment  int64
	Until   int64 // moment of the next version; db.Forever: there is no next version
	Audit   int64 // id of the write that made the version
	Created int64 // moment of the asset's first version
	Linked  bool  // true: the write began or ended rows of relations or multi-value attributes

	// Columns has the values in the order of meta.Model.Columns: nil, string, int64
	// (references, ranks, microseconds) or float64.
	Columns []any
	// Attrs is the JSON object with the other values; empty if there are no other values.
	Attrs string
}

// Edge is one value of a relation or of a multi-value attribute. It began or ended at the moment of
// a version.
type Edge struct {
	Attr  *meta.Attr // an attribute of the version's type
	Value any        // int64: stored id of the asset at the other end; string: value of a multi-value attribute
	Ended bool       // true: the value ended; false: the value began
}

// Step is one change of one asset.
type Step struct {
	Now    Version
	Before *Version // the previous version; nil: the step created the asset
	Edges  []Edge
}

// IsCreation reports whether the step created the asset.
func (s *Step) IsCreation() bool { return s.Before == nil }

// Act is what happened to a value, in the spelling of the interface.
type Act string

// The acts. Set is for attributes with a single value. Added and Removed are for one of several
// values.
const (
	Set     Act = "Set"
	Added   Act = "Added"
	Removed Act = "Removed"
)

// Change is one difference between two versions.
//
// Old and New are nil (no value), string, bool, int64, float64 or json.Number. If Attr is a
// relation, an int64 is a stored id. Otherwise it is a rank, a state or a time in UTC microseconds.
type Change struct {
	Attr     *meta.Attr
	Act      Act
	Old, New any
}

// Audit selects versions of one write. First and Last are moments; the range includes both.
type Audit struct {
	ID, First, Last int64
}
