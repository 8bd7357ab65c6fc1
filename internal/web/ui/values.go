package ui

import (
	"regexp"
	"strconv"
	"strings"
)

// Reference is an asset that a relation leads to.
type Reference struct {
	Oid string `json:"_oid"`
}

// NoAsset is the Oid of a relation that leads nowhere.
const NoAsset = "NULL"

// Count is a whole number that the interface writes as text.
type Count int

// UnmarshalJSON reads a number or a text of one.
func (c *Count) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	if text == "null" || text == "" {
		*c = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	*c = Count(n)
	return err
}

// oids are the forms of an Oid, without a moment.
var oids = regexp.MustCompile(`^([A-Z][A-Za-z]*):(0|-?[1-9][0-9]{0,17})$`)

// IsAnyOid reports whether a text is an Oid of some type.
func IsAnyOid(text string) bool { return oids.MatchString(text) }

// IsOid reports whether a text is an Oid of one of the types.
func IsOid(text string, types ...string) bool {
	m := oids.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for _, t := range types {
		if m[1] == t {
			return true
		}
	}
	return false
}

// Named is an asset that a form offers.
type Named struct {
	Oid  string `json:"_oid"`
	Name string
}
