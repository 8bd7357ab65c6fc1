package encode

import (
	"strconv"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// Form says how an answer on the data path, rest-1.v1/Data, is written.
type Form struct {
	Format  document.Format // document.JSON or document.XML
	Base    string          // the path before the type in every href, such as /alds/rest-1.v1/Data
	Moments bool            // hrefs and ids of the rows include their moments

	Stylesheet string // for XML: the processing instruction after the declaration; empty: none
}

// Assets writes assets for the data path, in one format. Every method appends to w and
// returns it. Spec: interface 4.1.
type Assets interface {
	// Begin appends the beginning of every answer.
	Begin(w []byte) []byte
	// Open appends the beginning of a collection, including Begin.
	Open(w []byte, c Collection) []byte
	// Close appends the end of a collection.
	Close(w []byte, c Collection) []byte
	// Separator returns the text between two assets of a collection.
	Separator() string
	// Asset appends one row of a set.
	Asset(w []byte, s *Set, row int32) []byte
	// Attribute appends one column of a row as a separate answer, with its own address and the
	// address of the asset.
	Attribute(w []byte, s *Set, row int32, c query.Column) []byte
	// Bare appends an asset without attributes.
	Bare(w []byte, o oid.OID) []byte
	// Template appends an asset that does not exist yet, with its attributes in the form in which a
	// client sends them. base is the path before the type in the href of the asset.
	Template(w []byte, base, typ string, given []Given) []byte
}

// Collection is the information around the assets of an answer.
type Collection struct {
	History bool // true: the assets are versions
	Total   int64
	Page    query.Page
}

// Given is one attribute of a template.
type Given struct {
	Attr  *meta.Attr
	Value value.Scalar // the value of a scalar
	OIDs  []oid.OID    // the values of a relation
}

// kind returns the type of a collection, which is also the name of its XML element.
func (c Collection) kind() string {
	if c.History {
		return "History"
	}
	return "Assets"
}

// NewAssets returns an encoder for the assets of a model.
func NewAssets(f Form, m *meta.Model, sink *Sink) Assets {
	all := assets{Form: f, model: m, sink: sink}
	if f.Format == document.XML {
		return xmlAssets{all}
	}
	return jsonAssets{all}
}

// assets has what both formats need.
type assets struct {
	Form
	model *meta.Model
	sink  *Sink
}

// cells returns the cells of a row.
func (assets) cells(s *Set, row int32) []value.Scalar {
	return s.Cells[int(row)*s.Width : int(row+1)*s.Width]
}

// ref is an Oid for an answer. If version is true, the Oid includes the moment, even if the moment
// is 0, as for assets from the installation.
type ref struct {
	oid.OID
	version bool
}

// self returns the Oid of a row.
func (e assets) self(cells []value.Scalar) ref {
	r := ref{selfOf(e.model, cells), e.Moments}
	r.Moment = cells[query.CellMoment].N
	return r
}

// target returns the Oid of the asset whose id is in a cell of a row, or the null reference.
func (e assets) target(cells []value.Scalar, c query.Column) ref {
	r := ref{oidOf(e.model, cells, c), c.MomentCell > 0}
	if r.version {
		r.Moment = cells[c.MomentCell].N
	}
	return r
}

// appendID appends the Oid token.
func (r ref) appendID(w []byte) []byte {
	w = r.Now().Append(w)
	if r.version {
		w = strconv.AppendInt(append(w, ':'), r.Moment, 10)
	}
	return w
}

// appendPath appends the part of the address after the base.
func (r ref) appendPath(w []byte) []byte {
	w = append(append(append(w, '/'), r.Type...), '/')
	w = strconv.AppendInt(w, r.ID, 10)
	if r.version {
		w = strconv.AppendInt(append(w, '/'), r.Moment, 10)
	}
	return w
}

// element returns the name for the values of a column: the _type in JSON and the element in XML.
func element(k meta.Kind) string {
	if k == meta.Relation {
		return "Relation"
	}
	return "Attribute"
}
