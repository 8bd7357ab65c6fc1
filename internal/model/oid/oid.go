package oid

import (
	"strconv"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
)

// OID identifies one asset, or one version of it.
//
//	Story:1234        the asset as it is now   {Type: "Story", ID: 1234}
//	Story:1234:9876   the asset at a moment    {..., Moment: 9876}
//	Scope:0           the root project         {Type: "Scope"}
//	AssetType:-5001   a row that describes the model
//
// The zero OID is the null reference and prints as NULL. Spec: docs/interface.md, section 2.1.
type OID struct {
	Type   string // asset type name, as spelled in the model
	ID     int64  // unique over all types, except fixed ids below 1001; negative: made by alds itself
	Moment int64  // version; 0 means now
}

// Null is the text of the null reference.
const Null = "NULL"

// Parse reads an OID token. It only checks the form; the caller checks whether the type
// exists.
// Errors: fault.Invalid.
func Parse(s string) (OID, error) {
	if s == Null {
		return OID{}, nil
	}
	typ, rest, ok := strings.Cut(s, ":")
	if !ok || !isName(typ) {
		return OID{}, Invalid(s)
	}
	id, moment, hasMoment := strings.Cut(rest, ":")
	o := OID{Type: typ}
	digits, negative := strings.CutPrefix(id, "-")
	if o.ID, ok = number(digits); !ok || negative && o.ID == 0 {
		return OID{}, Invalid(s)
	}
	if negative {
		o.ID = -o.ID
	}
	if hasMoment {
		if o.Moment, ok = number(moment); !ok {
			return OID{}, Invalid(s)
		}
	}
	return o, nil
}

// IsToken reports whether s has the form of an OID token other than NULL. A relation value
// without that form is a name such as "In Progress".
func IsToken(s string) bool {
	o, err := Parse(s)
	return err == nil && !o.IsNull()
}

// Invalid returns the error of the API for a token that names no asset.
// Spec: docs/interface.md, section 7.2.
func Invalid(token string) error {
	return fault.Invalidf(fault.NoPlace, "Invalid OID token: %s", token)
}

// IsNull reports whether o is the null reference.
func (o OID) IsNull() bool { return o.Type == "" }

// Now returns o without its moment.
func (o OID) Now() OID { return OID{Type: o.Type, ID: o.ID} }

// String prints o as a token; the null reference prints as NULL.
func (o OID) String() string { return string(o.Append(nil)) }

// Append appends the token to b.
func (o OID) Append(b []byte) []byte {
	if o.IsNull() {
		return append(b, Null...)
	}
	b = append(b, o.Type...)
	b = append(b, ':')
	b = strconv.AppendInt(b, o.ID, 10)
	if o.Moment != 0 {
		b = append(b, ':')
		b = strconv.AppendInt(b, o.Moment, 10)
	}
	return b
}

// maxDigits is the maximum number of digits in a number, so that every accepted number fits into an
// int64.
const maxDigits = 18

func number(s string) (int64, bool) {
	if s == "" || len(s) > maxDigits || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}
