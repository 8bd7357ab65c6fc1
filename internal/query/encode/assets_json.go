package encode

import (
	"net/url"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// jsonAssets writes assets as JSON:
//
//	{"_type":"Asset","href":"/alds/rest-1.v1/Data/Story/1001","id":"Story:1001",
//	 "Attributes":{"Name":{"_type":"Attribute","name":"Name","value":"x"}}}
type jsonAssets struct{ assets }

// Begin appends nothing.
func (jsonAssets) Begin(w []byte) []byte { return w }

// Open appends the members of a collection up to its assets.
func (jsonAssets) Open(w []byte, c Collection) []byte {
	w = append(append(append(w, `{"_type":"`...), c.kind()...), `","total":`...)
	w = strconv.AppendInt(w, c.Total, 10)
	w = strconv.AppendInt(append(w, `,"pageSize":`...), c.Page.Size, 10)
	w = strconv.AppendInt(append(w, `,"pageStart":`...), c.Page.Start, 10)
	return append(w, `,"Assets":[`...)
}

// Close appends the end of a collection.
func (jsonAssets) Close(w []byte, _ Collection) []byte { return append(w, "]}"...) }

// Separator returns a comma.
func (jsonAssets) Separator() string { return "," }

// Asset appends an object.
func (e jsonAssets) Asset(w []byte, s *Set, row int32) []byte {
	cells := e.cells(s, row)
	w = append(e.open(w, e.self(cells)), `,"Attributes":{`...)
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

// open appends an object up to its attributes.
func (e jsonAssets) open(w []byte, r ref) []byte {
	w = e.href(append(w, `{"_type":"Asset","href":`...), r)
	return append(r.appendID(append(w, `,"id":"`...)), '"')
}

// Attribute appends the object of the column with the additional members href and of.
func (e jsonAssets) Attribute(w []byte, s *Set, row int32, c query.Column) []byte {
	of := string(e.self(e.cells(s, row)).appendPath([]byte(e.Base)))
	w = e.member(w, s, row, c)
	w = value.AppendString(append(w, `,"href":`...), of+"/"+url.PathEscape(c.Name))
	w = value.AppendString(append(w, `,"of":`...), of)
	return append(w, '}')
}

// member appends an attribute or relation up to its closing brace.
func (e jsonAssets) member(w []byte, s *Set, row int32, c query.Column) []byte {
	w = e.name(w, c.Kind, c.Name)
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
		if w, _ = e.sink.Flush(w); e.sink.Err() != nil {
			return w
		}
	}
	return append(w, ']')
}

// name appends the object of an attribute up to its value.
func (jsonAssets) name(w []byte, k meta.Kind, name string) []byte {
	w = append(append(append(w, `{"_type":"`...), element(k)...), `","name":`...)
	return append(value.AppendString(w, name), `,"value":`...)
}

func (e jsonAssets) value(w []byte, cells []value.Scalar, c query.Column) []byte {
	v := cells[c.Cell]
	if c.Kind == meta.Blob && v.Form == value.Text {
		return e.sink.content(w, v, jsonContent)
	}
	if c.Kind != meta.Relation || v.Form == value.Null {
		return scalar(w, e.model, e.sink.word(v, &c), c, value.AppendData)
	}
	return append(e.ref(w, e.target(cells, c)), '}')
}

// ref appends the object of a related asset up to its closing brace.
func (e jsonAssets) ref(w []byte, r ref) []byte {
	w = e.href(append(w, `{"_type":"Asset","href":`...), r)
	return append(r.appendID(append(w, `,"idref":"`...)), '"')
}

// href appends the address of an asset. The base may contain any characters.
func (e jsonAssets) href(w []byte, r ref) []byte {
	w = value.AppendString(w, e.Base)
	return append(r.appendPath(w[:len(w)-1]), '"')
}

// Bare appends an object with empty Attributes.
func (e jsonAssets) Bare(w []byte, o oid.OID) []byte {
	return append(e.open(w, ref{o, o.Moment != 0}), `,"Attributes":{}}`...)
}

// Template appends an object whose attributes have the member act.
func (e jsonAssets) Template(w []byte, base, typ string, given []Given) []byte {
	w = value.AppendString(append(w, `{"_type":"Asset","href":`...), base+"/"+typ)
	w = append(w, `,"Attributes":{`...)
	for i, g := range given {
		if i > 0 {
			w = append(w, ',')
		}
		w = append(value.AppendString(w, g.Attr.Name), ':')
		w = e.given(e.name(w, g.Attr.Kind, g.Attr.Name), g)
	}
	return append(w, "}}"...)
}

// given appends the value of an attribute and its closing brace.
func (e jsonAssets) given(w []byte, g Given) []byte {
	switch {
	case g.Attr.Kind != meta.Relation:
		w = value.AppendData(w, g.Value, g.Attr.Kind, g.Attr)
	case !g.Attr.Multi:
		w = append(e.ref(w, ref{OID: g.OIDs[0]}), '}')
	default:
		w = append(w, '[')
		for i, o := range g.OIDs {
			if i > 0 {
				w = append(w, ',')
			}
			w = append(e.ref(w, ref{OID: o}), `,"act":"add"}`...)
		}
		return append(w, "]}"...)
	}
	return append(w, `,"act":"set"}`...)
}
