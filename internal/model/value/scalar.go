package value

import (
	"encoding/json"
	"strconv"
)

// Scalar is a value from a database or stored JSON. It is not stored in an interface, so rows are
// read and printed without an allocation for each value.
type Scalar struct {
	Form Form // never Bool: a Boolean is 0 or 1, or a text such as "true"
	N    int64
	F    float64
	T    []byte
}

// Of returns v as a Scalar. It returns false unless v is nil, bool, int64, float64, string,
// []byte or json.Number. Bytes are not copied.
func Of(v any) (Scalar, bool) {
	switch v := v.(type) {
	case nil:
		return Scalar{}, true
	case bool:
		if v {
			return Scalar{Form: Int, N: 1}, true
		}
		return Scalar{Form: Int}, true
	case int64:
		return Scalar{Form: Int, N: v}, true
	case float64:
		return Scalar{Form: Float, F: v}, true
	case string:
		return Scalar{Form: Text, T: []byte(v)}, true
	case []byte:
		return Scalar{Form: Text, T: v}, true
	case json.Number:
		return Scalar{Form: Text, T: []byte(v)}, true
	}
	return Scalar{}, false
}

// Any returns the value as int64, float64, string or nil.
func (v Scalar) Any() any {
	switch v.Form {
	case Int:
		return v.N
	case Float:
		return v.F
	case Text:
		return string(v.T)
	}
	return nil
}

// Int64 returns the value as an integer. It returns false for a missing value and for a value
// that is not an integer.
func (v Scalar) Int64() (int64, bool) {
	switch v.Form {
	case Int:
		return v.N, true
	case Float:
		return int64(v.F), float64(int64(v.F)) == v.F
	case Text:
		n, err := strconv.ParseInt(string(v.T), 10, 64)
		if err != nil {
			f, ferr := strconv.ParseFloat(string(v.T), 64)
			return int64(f), ferr == nil && float64(int64(f)) == f
		}
		return n, true
	}
	return 0, false
}
