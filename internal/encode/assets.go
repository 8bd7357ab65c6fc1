package encode

import (
	"strconv"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/value"
)

// Assets writes assets as the data path shows them.
//
// Shape: {"_type":"Asset","href":"/alds/rest-1.v1/Data/Story/1001","id":"Story:1001",
// "Attributes":{"Name":{"_type":"Attribute","name":"Name","value":"x"}}}
//
// Spec: interface 4.1.
type Assets struct {
	Model   *meta.Model
	Base    string // the path before the type in every href
	Moments bool   // hrefs and ids of the assets themselves carry their moment
	Sink    *Sink
}

// Asset appends one row of a set.
func (e Assets) Asset(w []byte, s *Set, row int32) []byte {
	cells := s.Cells[int(row)*s.Width : int(row+1)*s.Width]
	w = append(w, `{"_type":"Asset","href":`...)
	w = value.AppendString(w, e.self(cells))
	w = append(w, `,"id":"`...)
	w = Rows{Model: e.Model, Moments: e.Moments}.self(w, cells)
	w = append(w, `","Attributes":{`...)
	first := true
	for _, c := range s.Body.Columns {
		if !shows(c, cells[query.CellType]) {
			continue
		}
		if !first {
			w = append(w, ',')
		}
		first = false
		w = value.AppendString(w, c.Name)
		w = append(w, ':')
		w = e.member(w, s, row, c)
		w = append(w, '}')
	}
	return append(w, "}}"...)
}

// Attribute appends one column of a row as an answer of its own, with the
// addresses of itself and of its asset.
func (e Assets) Attribute(w []byte, s *Set, row int32, c query.Column) []byte {
	cells := s.Cells[int(row)*s.Width : int(row+1)*s.Width]
	of := e.self(cells)
	w = e.member(w, s, row, c)
	w = append(w, `,"href":`...)
	w = value.AppendString(w, of+"/"+c.Name)
	w = append(w, `,"of":`...)
	w = value.AppendString(w, of)
	return append(w, '}')
}

// member appends an attribute or relation up to its closing brace.
func (e Assets) member(w []byte, s *Set, row int32, c query.Column) []byte {
	kind := "Attribute"
	if c.Kind == meta.Relation {
		kind = "Relation"
	}
	w = append(w, `{"_type":"`...)
	w = append(w, kind...)
	w = append(w, `","name":`...)
	w = value.AppendString(w, c.Name)
	w = append(w, `,"value":`...)
	if !c.Many() {
		return e.value(w, s.Cells[int(row)*s.Width:], c)
	}
	l := s.Lists[c.Branch]
	w = append(w, '[')
	for i, r := range l.Rows(row) {
		if i > 0 {
			w = append(w, ',')
		}
		w = e.value(w, l.Set.Cells[int(r)*l.Set.Width:], l.Set.Body.Columns[c.Item])
		if w, _ = e.Sink.Flush(w); e.Sink.Err() != nil {
			return w
		}
	}
	return append(w, ']')
}

func (e Assets) value(w []byte, row []value.Scalar, c query.Column) []byte {
	v := row[c.Cell]
	if c.Kind == meta.Blob && v.Form == value.Text {
		return e.Sink.content(w, v)
	}
	if c.Kind != meta.Relation || v.Form == value.Null {
		return scalar(w, e.Model, v, c, value.AppendData)
	}
	o := oidOf(e.Model, row, c)
	w = append(w, `{"_type":"Asset","href":`...)
	w = value.AppendString(w, e.href(o))
	w = append(w, `,"idref":"`...)
	w = o.Append(w)
	return append(w, `"}`...)
}

// self returns the address of a row.
func (e Assets) self(cells []value.Scalar) string {
	href := e.href(selfOf(e.Model, cells))
	if e.Moments {
		href += "/" + strconv.FormatInt(cells[query.CellMoment].N, 10)
	}
	return href
}

// href returns the address of an asset.
func (e Assets) href(o oid.OID) string {
	return e.Base + "/" + o.Type + "/" + strconv.FormatInt(o.ID, 10)
}
