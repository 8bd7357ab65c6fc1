package encode

import (
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/query"
)

// The forms of dates. A date without a time of day, a time in the server's
// zone, which is UTC, and the seven digits of UTC attributes.
const (
	dateOnly = "2006-01-02"
	dateTime = "2006-01-02T15:04:05.000"
	dateUTC  = "2006-01-02T15:04:05.0000000Z"
)

// String appends s as a JSON string.
func String[T ~string | ~[]byte](w []byte, s T) []byte {
	w, _ = jsontext.AppendQuote(w, s) // what is no UTF-8 is replaced
	return w
}

// oidOf returns the Oid of the asset whose id and type code stand in the cells,
// the null reference when there is none.
func oidOf(m *meta.Model, row []Cell, c query.Column) oid.OID {
	id := row[c.Cell]
	if id.Kind == Null {
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

// date appends UTC microseconds in the form of the attribute.
func date(w []byte, c Cell, a *meta.Attr) []byte {
	micros, ok := c.Int64()
	if !ok {
		return append(w, "null"...)
	}
	form := dateTime
	if a != nil && a.DateOnly {
		form = dateOnly
	} else if a != nil && a.UTC {
		form = dateUTC
	}
	w = append(w, '"')
	w = time.UnixMicro(micros).UTC().AppendFormat(w, form)
	return append(w, '"')
}

// truth appends a Boolean.
func truth(w []byte, c Cell) []byte {
	switch {
	case c.Kind == Null:
		return append(w, "null"...)
	case c.Kind == Text && (string(c.T) == "true" || string(c.T) == "1"), c.Kind != Text && (c.N != 0 || c.F != 0):
		return append(w, "true"...)
	}
	return append(w, "false"...)
}

// number appends a number without an exponent where that is short.
func number(w []byte, c Cell) []byte {
	switch c.Kind {
	case Int:
		return strconv.AppendInt(w, c.N, 10)
	case Text:
		if n, err := strconv.ParseInt(string(c.T), 10, 64); err == nil {
			return strconv.AppendInt(w, n, 10)
		}
		f, err := strconv.ParseFloat(string(c.T), 64)
		if err != nil {
			return append(w, "null"...)
		}
		c.F = f
	case Null:
		return append(w, "null"...)
	}
	form := byte('f')
	if a := math.Abs(c.F); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'g'
	}
	return strconv.AppendFloat(w, c.F, form, -1, 64)
}

func typeName(m *meta.Model, c Cell) (string, bool) {
	t, ok := m.TypeByCode(int(c.N))
	if !ok || c.Kind == Null {
		return "", false
	}
	return t.Name, true
}

// shows reports whether a row of the type coded so has the column.
func shows(c query.Column, code Cell) bool {
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
