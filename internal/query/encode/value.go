package encode

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query"
)

// oidOf returns the Oid of the asset whose id and type code are in the cells, or the null
// reference.
func oidOf(m *meta.Model, row []value.Scalar, c query.Column) oid.OID {
	id := row[c.Cell]
	if id.Form == value.Null {
		return oid.OID{}
	}
	t := c.Ref
	if c.Typed >= 0 {
		t, _ = m.TypeByCode(int(row[c.Typed].N))
	}
	if t == nil {
		return oid.OID{}
	}
	return oid.OID{Type: t.Name, ID: t.Shown(id.N)}
}

// scalar appends a value of a column that is not a relation.
func scalar(w []byte, m *meta.Model, v value.Scalar, c query.Column, print printer) []byte {
	if c.Kind != meta.AssetType || v.Form == value.Null {
		return print(w, v, c.Kind, c.Attr)
	}
	return value.AppendString(w, typeName(m, v))
}

// typeName returns the name of the type with a code, or "".
func typeName(m *meta.Model, code value.Scalar) string {
	if t, ok := m.TypeByCode(int(code.N)); ok {
		return t.Name
	}
	return ""
}

// printer is value.AppendRow or value.AppendData.
type printer func(w []byte, v value.Scalar, k meta.Kind, a *meta.Attr) []byte

// shows reports whether rows of the type with this code have the column.
func shows(c query.Column, code value.Scalar) bool {
	if c.Only == nil {
		return true
	}
	for _, t := range c.Only {
		if int64(t.Code) == code.N {
			return true
		}
	}
	return false
}
