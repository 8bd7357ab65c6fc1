package ui

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Reference is an asset that is the value of a relation.
type Reference struct {
	Oid string `json:"_oid"`
}

// NoAsset is the Oid of an empty relation.
const NoAsset = "NULL"

// Count is a whole number, which the interface may write as a string.
type Count int

// UnmarshalJSON decodes a number or a string with a number. null and "" are 0.
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

// oids matches an Oid without a moment.
var oids = regexp.MustCompile(`^([A-Z][A-Za-z]*):(0|-?[1-9][0-9]{0,17})$`)

// IsAnyOid reports whether a text is an Oid of any type.
func IsAnyOid(text string) bool { return oids.MatchString(text) }

// IsOid reports whether a text is an Oid of one of these types.
func IsOid(text string, types ...string) bool {
	m := oids.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	return slices.Contains(types, m[1])
}

// Named is an asset with its name, as an option in a form.
type Named struct {
	Oid  string `json:"_oid"`
	Name string
}
