package value

import (
	"math"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
)

// printer appends a value that is not missing. Each kind has three printers: row, data and xml. The
// attribute a decides the form of a date, and may be nil.
type printer func(w []byte, v Scalar, a *meta.Attr) []byte

// AppendRow appends a value in the form of query rows and events: numbers as strings, states
// by name. Only the form of a date depends on a, which may be nil.
func AppendRow(w []byte, v Scalar, k meta.Kind, a *meta.Attr) []byte {
	if v.Form == Null {
		return append(w, "null"...)
	}
	return kinds[k].row(w, v, a)
}

// AppendData appends a value in the form of the data path: numbers and states as numbers. Only the
// form of a date depends on a, which may be nil.
func AppendData(w []byte, v Scalar, k meta.Kind, a *meta.Attr) []byte {
	if v.Form == Null {
		return append(w, "null"...)
	}
	return kinds[k].data(w, v, a)
}

func appendBool(w []byte, v Scalar, _ *meta.Attr) []byte {
	if v.Form == Text && (string(v.T) == "true" || string(v.T) == "1") || v.Form != Text && (v.N != 0 || v.F != 0) {
		return append(w, "true"...)
	}
	return append(w, "false"...)
}

// appendNumber appends a number, without an exponent unless it is very large or small.
func appendNumber(w []byte, v Scalar, _ *meta.Attr) []byte {
	switch v.Form {
	case Int:
		return strconv.AppendInt(w, v.N, 10)
	case Text:
		if n, err := strconv.ParseInt(string(v.T), 10, 64); err == nil {
			return strconv.AppendInt(w, n, 10)
		}
		f, err := strconv.ParseFloat(string(v.T), 64)
		if err != nil {
			return append(w, "null"...)
		}
		v.F = f
	}
	form := byte('f')
	if a := math.Abs(v.F); a != 0 && (a < 1e-6 || a >= 1e21) {
		form = 'g'
	}
	return strconv.AppendFloat(w, v.F, form, -1, 64)
}

func appendQuotedNumber(w []byte, v Scalar, a *meta.Attr) []byte {
	return append(appendNumber(append(w, '"'), v, a), '"')
}

// appendState appends the name of an asset state, or its number if it has no name.
func appendState(w []byte, v Scalar, a *meta.Attr) []byte {
	n, _ := v.Int64()
	if name, ok := stateNames[n]; ok {
		return AppendString(w, name)
	}
	return appendQuotedNumber(w, v, a)
}

func appendText(w []byte, v Scalar, a *meta.Attr) []byte {
	if v.Form != Text {
		return appendQuotedNumber(w, v, a)
	}
	return AppendString(w, v.T)
}
