package value

import (
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/model/meta"
)

// Parse reads a text, which must not be empty, as a value of a kind. It returns false if the text
// is not a value of the kind.
//
// The result is a bool for Boolean; float64 for Numeric, never infinite and never negative zero;
// int64 for Rank, LongInt, Opaque and State; int64 for Date, in UTC microseconds; string for all
// other kinds. If dayOnly is true, the result for Date is the beginning of the day. A Guid and a
// Blob get the spelling in which they are stored.
func Parse(k meta.Kind, dayOnly bool, text string) (any, bool) {
	if parse := kinds[k].parse; parse != nil {
		return parse(text, dayOnly)
	}
	return text, true
}

// Operand reads a text as Parse does, for a comparison with stored values. There is one difference:
// a date keeps its time of day, even if dayOnly is true. A stored day counts as midnight, so it is
// before every later time of the same day. Spec: docs/interface.md, section 2.3.3.
func Operand(k meta.Kind, dayOnly bool, text string) (any, bool) {
	if k == meta.Date && dayOnly {
		return instant(text, onCalendar)
	}
	return Parse(k, dayOnly, text)
}

func parseBool(text string, _ bool) (any, bool) {
	switch strings.ToLower(text) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// parseFloat reads a decimal number. It refuses hexadecimal numbers and Inf.
func parseFloat(text string, _ bool) (any, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0.0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if f == 0 {
		f = 0 // no negative zero
	}
	return f, err == nil && !math.IsInf(f, 0)
}

// The largest absolute values that may be written: MaxNumber to a Numeric, MaxInt to a LongInt.
// Sums and differences of very many such values are still finite. Spec: docs/interface.md, section
// 2.2.1.
const (
	MaxNumber       = 1e100
	MaxInt    int64 = 1e15
)

// IsBounded reports whether a value of a kind lies within the bounds of numbers.
func IsBounded(k meta.Kind, v any) bool {
	switch x := v.(type) {
	case float64:
		return math.Abs(x) <= MaxNumber
	case int64:
		return k != meta.LongInt || -MaxInt <= x && x <= MaxInt
	}
	return true
}

func parseInt(text string, _ bool) (any, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// stateNames are the names of asset states, as clients write them and as query rows show them.
var stateNames = map[int64]string{
	0: "Future", 64: "Active", 128: "Closed", 200: "Template", 208: "Broken Down", 255: "Deleted",
}

// parseState reads an asset state by name or number.
func parseState(text string, _ bool) (any, bool) {
	for n, name := range stateNames {
		if strings.EqualFold(text, name) {
			return n, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int64(n), err == nil
}

var durationForm = regexp.MustCompile(`^[0-9]{1,9} (Days|Weeks|Months)$`)

func parseDuration(text string, _ bool) (any, bool) { return text, durationForm.MatchString(text) }

func parseGUID(text string, _ bool) (any, bool) {
	id, err := uuid.Parse(text)
	return id.String(), err == nil
}

func parseBlob(text string, _ bool) (any, bool) {
	b, err := base64.StdEncoding.DecodeString(text)
	return base64.StdEncoding.EncodeToString(b), err == nil
}
