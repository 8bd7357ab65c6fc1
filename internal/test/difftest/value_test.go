package difftest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/store/collation"
)

// The values of the evaluator are nil, string, float64 (Numeric), int64 (Rank, LongInt, State and Opaque;
// Date in microseconds UTC), bool, *meta.Type and node.

// typed converts a text from a row or a query to a value of a kind.
func typed(k meta.Kind, s string) any {
	switch k {
	case meta.Numeric:
		f, err := strconv.ParseFloat(s, 64)
		must(err)
		return f
	case meta.Rank, meta.LongInt, meta.Opaque:
		n, err := strconv.ParseInt(s, 10, 64)
		must(err)
		return n
	case meta.State:
		for n, name := range stateNames {
			if strings.EqualFold(s, name) {
				return n
			}
		}
		n, err := strconv.ParseInt(s, 10, 64)
		must(err)
		return n
	case meta.Date:
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n
		}
		return instant(s)
	case meta.Boolean:
		return strings.EqualFold(s, "true")
	case meta.GUID: // the same GUID can be written in several forms
		s = strings.Trim(strings.TrimPrefix(strings.ToLower(s), "urn:uuid:"), "{}")
	}
	return s
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func instant(s string) int64 {
	return when(s).UnixMicro()
}

// onCalendar returns the time with which a date-only attribute is compared, in microseconds. It is the
// written date and time, without the written time zone.
func onCalendar(s string) int64 {
	t := when(s)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC).UnixMicro()
}

func when(s string) time.Time {
	for _, form := range []string{"2006-01-02", time.RFC3339Nano, "1/2/2006", "1/2/2006 3:04:05.999999 PM", "2006-01-02 15:04:05.999999"} {
		if t, err := time.Parse(form, s); err == nil {
			return t
		}
	}
	panic("no date: " + s)
}

var stateNames = map[int64]string{0: "Future", 64: "Active", 128: "Closed", 200: "Template", 208: "Broken Down", 255: "Deleted"}

// order compares two values of the same kind, as cmp.Compare does. null is lower than everything else.
func order(a, b any) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	switch x := a.(type) {
	case string:
		return collation.Compare(x, b.(string))
	case float64:
		return cmp.Compare(x, b.(float64))
	case int64:
		return cmp.Compare(x, b.(int64))
	case bool:
		return cmp.Compare(number(x), number(b.(bool)))
	case *meta.Type:
		return cmp.Compare(x.Name, b.(*meta.Type).Name)
	case node:
		return cmp.Compare(x.id, b.(node).id)
	}
	panic(fmt.Sprintf("%T has no order", a))
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// missing reports whether v is null, no asset, or an empty text.
func missing(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case node:
		return v.none()
	}
	return false
}

// alike reports whether two values of the same kind are equal. Texts are equal if their NFC forms differ
// only in case. Texts that sort equally need not be equal.
func alike(a, b any) bool {
	x, isText := a.(string)
	if !isText {
		return order(a, b) == 0
	}
	y, isText := b.(string)
	return isText && strings.EqualFold(norm.NFC.String(x), norm.NFC.String(y))
}

// caseless returns the NFC form of a text in which each character is replaced by the lowest of the
// characters that differ from it only in case.
func caseless(s string) string {
	return strings.Map(func(r rune) rune {
		first := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			first = min(first, o)
		}
		return first
	}, norm.NFC.String(s))
}

// contains reports whether the text s passes ~= or find with the text what. If pattern is true and what
// contains "%" or "*", these match any text, and what must match the whole of s. Otherwise s must contain
// what.
func contains(s, what string, pattern bool) bool {
	s, what = caseless(s), caseless(what)
	if !pattern || !strings.ContainsAny(what, "%*") {
		return strings.Contains(s, what)
	}
	parts := strings.Split(strings.ReplaceAll(what, "*", "%"), "%")
	last := len(parts) - 1
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1:last] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}

// shown returns the Oid of an asset. If moment is true, the Oid includes the moment.
func (n node) shown(moment bool) string {
	if n.none() {
		return oid.Null
	}
	s := n.typ.Name + ":" + strconv.FormatInt(n.typ.Shown(n.id), 10)
	if moment {
		s += ":" + strconv.FormatInt(n.moment, 10)
	}
	return s
}
