package encode

import (
	"net/url"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// xmlAssets writes assets as XML, for existing clients:
//
//	<Asset href="/alds/rest-1.v1/Data/Story/1001" id="Story:1001">
//	  <Attribute name="Name">x</Attribute><Relation name="Super" /></Asset>
//
// A missing value is an empty element. There is no text between elements, since some clients
// treat every node as an element.
type xmlAssets struct{ assets }

// Begin appends the declaration, and the instruction for a stylesheet.
func (e xmlAssets) Begin(w []byte) []byte {
	return append(append(w, value.XMLDeclaration...), e.Stylesheet...)
}

// Open appends the start of the element of a collection.
func (e xmlAssets) Open(w []byte, c Collection) []byte {
	w = append(append(append(e.Begin(w), '<'), c.kind()...), ` total="`...)
	w = strconv.AppendInt(w, c.Total, 10)
	w = strconv.AppendInt(append(w, `" pageSize="`...), c.Page.Size, 10)
	w = strconv.AppendInt(append(w, `" pageStart="`...), c.Page.Start, 10)
	return append(w, `">`...)
}

// Close appends the end of the element of a collection.
func (xmlAssets) Close(w []byte, c Collection) []byte { return end(w, c.kind()) }

// Separator returns "".
func (xmlAssets) Separator() string { return "" }

// Asset appends an element.
func (e xmlAssets) Asset(w []byte, s *Set, row int32) []byte {
	cells := e.cells(s, row)
	w = e.open(w, e.self(cells))
	empty := true
	for i := range s.Body.Columns {
		c := &s.Body.Columns[i]
		if !shows(*c, cells[query.CellType]) {
			continue
		}
		if empty {
			w = append(w, '>')
		}
		empty = false
		w = e.content(e.start(w, c.Kind, c.Name), s, row, c)
	}
	if empty {
		return append(w, " />"...)
	}
	return end(w, "Asset")
}

// open appends the start of an Asset, without the end of its tag.
func (e xmlAssets) open(w []byte, r ref) []byte {
	w = e.href(append(w, `<Asset href="`...), r)
	return append(r.appendID(append(w, `" id="`...)), '"')
}

// Attribute appends the element of the column with the additional attributes href and of.
func (e xmlAssets) Attribute(w []byte, s *Set, row int32, c query.Column) []byte {
	of := e.href(nil, e.self(e.cells(s, row)))
	w = e.start(w, c.Kind, c.Name)
	w = append(append(append(w, ` href="`...), of...), '/')
	w = value.AppendXMLAttr(w, url.PathEscape(c.Name))
	w = append(append(append(w, `" of="`...), of...), '"')
	return e.content(w, s, row, &c)
}

// start appends the start of an Attribute or Relation, without the end of its tag.
func (xmlAssets) start(w []byte, k meta.Kind, name string) []byte {
	w = append(append(append(w, '<'), element(k)...), ` name="`...)
	return append(value.AppendXMLAttr(w, name), '"')
}

// end appends the end tag of an element.
func end(w []byte, name string) []byte {
	return append(append(append(w, "</"...), name...), '>')
}

// content appends the end of a start tag, the value and the end tag.
func (e xmlAssets) content(w []byte, s *Set, row int32, c *query.Column) []byte {
	if c.Many() {
		return e.list(w, s.Lists[c.Branch], row, c)
	}
	start := len(w)
	w = append(w, '>')
	from, flushes := len(w), e.sink.flushCount()
	w = e.value(w, s.Cells[int(row)*s.Width:], c)
	if len(w) == from && e.sink.flushCount() == flushes {
		return append(w[:start], " />"...)
	}
	return end(w, element(c.Kind))
}

// list appends the values of a to-many column. It appends nothing for a missing related
// asset.
func (e xmlAssets) list(w []byte, l List, row int32, c *query.Column) []byte {
	rows, item := l.Rows(row), &l.Set.Body.Columns[c.Item]
	if len(rows) == 0 {
		return append(w, " />"...)
	}
	w = append(w, '>')
	for _, r := range rows {
		cells := l.Set.Cells[int(r)*l.Set.Width:]
		if c.Kind == meta.Relation {
			w = e.value(w, cells, item)
		} else {
			w = e.item(w, cells, item)
		}
		if w, _ = e.sink.Flush(w); e.sink.Err() != nil {
			return w
		}
	}
	return end(w, element(c.Kind))
}

// item appends one value of a column with several values.
func (e xmlAssets) item(w []byte, cells []value.Scalar, c *query.Column) []byte {
	w = append(w, "<Value>"...)
	from := len(w)
	if w = e.value(w, cells, c); len(w) == from {
		return append(w[:from-len(">")], " />"...)
	}
	return end(w, "Value")
}

// value appends a value, or nothing for a missing value.
func (e xmlAssets) value(w []byte, cells []value.Scalar, c *query.Column) []byte {
	switch v := cells[c.Cell]; {
	case v.Form == value.Null:
		return w
	case c.Kind == meta.Relation:
		return append(e.ref(append(w, "<Asset"...), e.target(cells, *c)), " />"...)
	case c.Kind == meta.Blob && v.Form == value.Text:
		return e.sink.content(w, v, xmlContent)
	case c.Kind == meta.AssetType:
		return append(w, typeName(e.model, v)...)
	default:
		return value.AppendXMLData(w, e.sink.word(v, c), c.Kind, c.Attr)
	}
}

// ref appends the attributes of a related asset.
func (e xmlAssets) ref(w []byte, r ref) []byte {
	w = e.href(append(w, ` href="`...), r)
	return append(r.appendID(append(w, `" idref="`...)), '"')
}

// href appends the address of an asset.
func (e xmlAssets) href(w []byte, r ref) []byte {
	return r.appendPath(value.AppendXMLAttr(w, e.Base))
}

// Bare appends an empty element.
func (e xmlAssets) Bare(w []byte, o oid.OID) []byte {
	return append(e.open(w, ref{o, o.Moment != 0}), " />"...)
}

// Template appends an element in which each value has the attribute act.
func (e xmlAssets) Template(w []byte, base, typ string, given []Given) []byte {
	w = value.AppendXMLAttr(append(w, `<Asset href="`...), base+"/"+typ)
	if len(given) == 0 {
		return append(w, `" />`...)
	}
	w = append(w, `">`...)
	for _, g := range given {
		w = e.given(e.start(w, g.Attr.Kind, g.Attr.Name), g)
	}
	return end(w, "Asset")
}

// given appends the end of a start tag, the value with the attribute act, and the end tag.
func (e xmlAssets) given(w []byte, g Given) []byte {
	switch {
	case g.Attr.Kind != meta.Relation:
		w = append(w, ` act="set">`...)
		w = value.AppendXMLData(w, g.Value, g.Attr.Kind, g.Attr)
	case !g.Attr.Multi:
		w = append(w, ` act="set"><Asset`...)
		w = append(e.ref(w, ref{OID: g.OIDs[0]}), " />"...)
	default:
		w = append(w, '>')
		for _, o := range g.OIDs {
			w = append(e.ref(append(w, `<Asset act="add"`...), ref{OID: o}), " />"...)
		}
	}
	return end(w, element(g.Attr.Kind))
}
