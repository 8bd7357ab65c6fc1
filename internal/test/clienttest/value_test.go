package clienttest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// text is one that nobody else has.
func (c *client) text(what string) string { return what + " " + c.word() }

// word is one that nobody else has.
func (c *client) word() string {
	c.names++
	return strconv.Itoa(c.names)
}

// value is one of an attribute that is no relation: of each kind the client has
// two that differ. Dates go back in time, so that what ends does not end before
// it begins where both are set in the order of their names.
func (c *client) value(typ string, a *attribute, nth int) any {
	pair := func(first, second any) any { return []any{first, second}[nth%2] }
	var v any
	switch a.AttributeType {
	case "Text", "Password", "LocalizerTag":
		v = c.text(a.Name)
	case "LongText":
		v = c.text(strings.Repeat("<p>"+a.Name+" ä & 漢</p>\n", 300))
	case "Numeric":
		v = pair("2.5", "-3")
		if a.Token == small {
			v = pair("2.5", "3")
		}
	case "LongInt", "Opaque":
		v = pair("12", "4294967297")
	case "Boolean":
		v = pair(true, false)
	case "Date":
		v = pair("2026-03-05", "2026-03-04")
	case "Duration":
		v = pair("2 Weeks", "3 Days")
	case "State":
		v = pair("Closed", "Active")
	case "Guid":
		v = pair("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b811-9dad-11d1-80b4-00c04fd430c8")
	case "Blob":
		v = base64.StdEncoding.EncodeToString([]byte(c.text("bytes\x00\xff")))
	case "Rank":
		v = object{[]string{"Before", "After"}[nth%2]: c.related(typ)[0]}
	case "AssetType":
		v = typ
	default:
		c.t.Errorf("%s: no value of the kind %s is known", a.Token, a.AttributeType)
	}
	if a.IsMultivalue {
		return []any{v}
	}
	return v
}

// differs says what is wrong with what is read of an attribute that was written,
// or nothing.
func differs(a *attribute, wrote, read any) string {
	problem := fmt.Sprintf("%s: wrote %.100v, read %.100v", a.Token, wrote, read)
	switch {
	case a.AttributeType == "Password":
		return ""
	case a.AttributeType == "Rank": // a place, of which a number is read
		if text, ok := read.(string); ok && strings.Trim(text, "0123456789") == "" && text != "" {
			return ""
		}
		return problem
	case a.IsMultivalue:
		all, ok := read.([]any)
		if !ok {
			return problem
		}
		for _, one := range wrote.([]any) {
			if !slices.ContainsFunc(all, func(got any) bool { return equal(a, one, got) }) {
				return problem
			}
		}
		return ""
	case equal(a, wrote, read):
		return ""
	}
	return problem
}

// equal compares one value; a day that was written is the beginning of the date
// that is read.
func equal(a *attribute, wrote, read any) bool {
	switch got := read.(type) {
	case object:
		return got["_oid"] == wrote
	case string:
		want := fmt.Sprint(wrote)
		return got == want || a.AttributeType == "Date" && got == want+"T00:00:00.000"
	}
	return read == wrote
}

// isNothing reports whether what is read is what an attribute without a value has.
func isNothing(read any) bool {
	switch got := read.(type) {
	case nil:
		return true
	case bool:
		return !got
	case object:
		return got["_oid"] == "NULL"
	case []any:
		return len(got) == 0
	}
	return false
}
