package value

import (
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/meta"
)

// Parse reads text, which is not empty, as a value of a kind. It reports false
// when it is none.
//
// Shape: bool for Boolean; float64 for Numeric, never infinite and never
// negative zero; int64 for Rank, LongInt, Opaque and State; int64 for Date, in
// UTC microseconds, with dayOnly those of the day's beginning; string for
// everything else, Guid and Blob in their one stored spelling.
func Parse(k meta.Kind, dayOnly bool, text string) (any, bool) {
	switch k {
	case meta.Boolean:
		return truth(text)
	case meta.Numeric:
		return number(text)
	case meta.Rank, meta.LongInt, meta.Opaque:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case meta.State:
		return state(text)
	case meta.Date:
		return date(text, dayOnly)
	case meta.Duration:
		return text, durationForm.MatchString(text)
	case meta.GUID:
		id, err := uuid.Parse(text)
		return id.String(), err == nil
	case meta.Blob:
		b, err := base64.StdEncoding.DecodeString(text)
		return base64.StdEncoding.EncodeToString(b), err == nil
	}
	return text, true
}

var durationForm = regexp.MustCompile(`^[0-9]{1,9} (Days|Weeks|Months)$`)

func truth(text string) (any, bool) {
	switch strings.ToLower(text) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

// number reads a decimal number: no hexadecimal, no Inf.
func number(text string) (any, bool) {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return 0.0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if f == 0 {
		f = 0 // no negative zero
	}
	return f, err == nil && !math.IsInf(f, 0)
}

// StateNames are the names of asset states, which stand for their numbers
// wherever states are read and shown.
var StateNames = map[int64]string{
	0: "Future", 64: "Active", 128: "Closed", 200: "Template", 208: "Broken Down", 255: "Deleted",
}

// state reads an asset state by name or number.
func state(text string) (any, bool) {
	for n, name := range StateNames {
		if strings.EqualFold(text, name) {
			return n, true
		}
	}
	n, err := strconv.ParseUint(text, 10, 8)
	return int64(n), err == nil
}
