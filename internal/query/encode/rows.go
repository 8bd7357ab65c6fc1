package encode

import (
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// Rows writes the rows of queries.
//
// Shape: {"_oid":"Story:1001","Estimate":"3","Scope":{"_oid":"Scope:0"},
// "Owners":[{"_oid":"Member:20"}]}
// Numbers are strings. A missing asset is {"_oid":"NULL"}.
type Rows struct {
	Model   *meta.Model
	Moments bool // the Oid of a row includes its moment
	Sink    *Sink
}

// Row appends one row of a set.
func (e Rows) Row(w []byte, s *Set, row int32) []byte {
	cells := s.Cells[int(row)*s.Width : int(row+1)*s.Width]
	w = append(w, `{"_oid":"`...)
	w = e.self(w, cells)
	w = append(w, '"')
	for _, c := range s.Body.Columns {
		if !shows(c, cells[query.CellType]) {
			continue
		}
		w = append(w, ',')
		w = value.AppendString(w, c.Name)
		w = append(w, ':')
		if c.Many() {
			w = e.list(w, s.Lists[c.Branch], c, row)
		} else {
			w = e.value(w, cells, c)
		}
	}
	return append(w, '}')
}

// self appends the Oid of a row. Assets from the installation have moment 0, which is written like
// any other moment.
func (e Rows) self(w []byte, cells []value.Scalar) []byte {
	w = selfOf(e.Model, cells).Append(w)
	if e.Moments {
		w = append(w, ':')
		w = strconv.AppendInt(w, cells[query.CellMoment].N, 10)
	}
	return w
}

// selfOf returns the Oid of a row, without its moment.
func selfOf(m *meta.Model, cells []value.Scalar) oid.OID {
	return oidOf(m, cells, query.Column{Cell: query.CellID, Typed: query.CellType})
}

// list appends the rows of a branch that belong to a row: whole rows of a nested select, or
// the values of one column.
func (e Rows) list(w []byte, l List, c query.Column, row int32) []byte {
	g := l.group(row)
	w = append(w, '[')
	switch {
	case len(g.Rows) == 0:
	case c.Item >= 0:
		for i, r := range g.Rows {
			if i > 0 {
				w = append(w, ',')
			}
			w = e.value(w, l.Set.Cells[int(r)*l.Set.Width:], l.Set.Body.Columns[c.Item])
			if w, _ = e.Sink.Flush(w); e.Sink.Err() != nil {
				return w
			}
		}
	case g.text != nil:
		w = append(w, g.text...)
		w, _ = e.Sink.Flush(w)
	default:
		w = e.nested(w, l.Set, g)
	}
	return append(w, ']')
}

// nested appends the rows of a nested select. If these rows appear several times in the answer,
// they are encoded the first two times. Later their text is copied.
func (e Rows) nested(w []byte, s *Set, g *Group) []byte {
	start, flushes := len(w), e.Sink.flushCount()
	for i, r := range g.Rows {
		if i > 0 {
			w = append(w, ',')
		}
		w = e.Row(w, s, r)
		if w, _ = e.Sink.Flush(w); e.Sink.Err() != nil {
			return w
		}
	}
	e.Sink.cache(g, w, start, flushes)
	return w
}

// Missing appends the row of a missing asset, with the columns of b.
func (e Rows) Missing(w []byte, b *query.Body) []byte {
	w = append(w, `{"_oid":"NULL"`...)
	for _, c := range b.Columns {
		if c.Only != nil {
			continue
		}
		w = append(w, ',')
		w = value.AppendString(w, c.Name)
		switch {
		case c.Many():
			w = append(w, ":[]"...)
		case c.Kind == meta.Relation:
			w = append(w, `:{"_oid":"NULL"}`...)
		default:
			w = append(w, ":null"...)
		}
	}
	return append(w, '}')
}

func (e Rows) value(w []byte, row []value.Scalar, c query.Column) []byte {
	if c.Kind == meta.Relation {
		w = append(w, `{"_oid":"`...)
		w = oidOf(e.Model, row, c).Append(w)
		return append(w, `"}`...)
	}
	if v := row[c.Cell]; c.Kind == meta.Blob && v.Form == value.Text {
		return e.Sink.content(w, v, jsonContent)
	}
	return scalar(w, e.Model, e.Sink.word(row[c.Cell], &c), c, value.AppendRow)
}
