package clienttest

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// text returns what with a unique number.
func (c *client) text(what string) string { return what + " " + c.word() }

// word returns a unique number as text.
func (c *client) word() string {
	c.names++
	return strconv.Itoa(c.names)
}

// value returns a value for an attribute that is not a relation. The values for nth 0 and 1 differ. The
// second date is earlier than the first, because attributes are written in the order of their names: a
// begin date changes before the end date, and must at no time be after the end date.
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

// differs compares the written value of an attribute with the value read. It returns a description of the
// difference, or "" if there is none.
func differs(a *attribute, wrote, read any) string {
	problem := fmt.Sprintf("%s: wrote %.100v, read %.100v", a.Token, wrote, read)
	switch {
	case a.AttributeType == "Password":
		return ""
	case a.AttributeType == "Rank": // a rank is written as a position, and a number is read
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

// equal reports whether a written value equals the value read. A date that was written as a day is read as
// the start of that day.
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

// isNothing reports whether the value read means that the attribute has no value.
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
