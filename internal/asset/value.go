package asset

import (
	"encoding/base64"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/meta"
)

// maxText is how many characters an attribute of kind Text holds.
const maxText = 4000

// maxColumn is how many bytes one long text, or all attributes without a column
// together, may take: a server with default settings accepts no more at once.
const maxColumn = 15 << 20

// maxMulti is how many characters one value of a multi-value scalar holds.
const maxMulti = 400

var durationForm = regexp.MustCompile(`^[0-9]{1,9} (Days|Weeks|Months)$`)

// scalar turns what the client wrote into what is stored: nil, string, int64,
// float64 or bool. Dates become UTC microseconds.
// Errors: fault.Invalid.
func scalar(a *meta.Attr, v Value) (any, error) {
	if v.Kind == Null {
		return nil, nil
	}
	switch a.Kind {
	case meta.Text, meta.LongText, meta.LocalizerTag:
		return text(a, v)
	}
	if v.isEmpty() {
		return nil, nil
	}
	if x := parsed(a, v); x != nil {
		return x, nil
	}
	return nil, invalid(a)
}

// text accepts any scalar: YAML and careless scripts write numbers for names.
func text(a *meta.Attr, v Value) (any, error) {
	if len(v.Text) > maxColumn {
		return nil, tooLong(a)
	}
	if a.Kind != meta.LongText && len(v.Text) > maxText && utf8.RuneCountInString(v.Text) > maxText {
		return nil, tooLong(a)
	}
	return v.Text, nil
}

// parsed reads every kind that is not text; nil when v is not of that kind.
func parsed(a *meta.Attr, v Value) any {
	switch a.Kind {
	case meta.Boolean:
		return parseBool(v)
	case meta.Numeric:
		return parseFloat(v)
	case meta.LongInt, meta.Rank, meta.State:
		return parseInt(v)
	case meta.Date:
		if at, ok := parseDate(v.Text, a.DateOnly); ok && v.Kind == Text {
			return at
		}
	case meta.Duration:
		if durationForm.MatchString(v.Text) {
			return v.Text
		}
	case meta.GUID:
		if id, err := uuid.Parse(v.Text); err == nil {
			return id.String()
		}
	case meta.Blob:
		if b, err := base64.StdEncoding.DecodeString(v.Text); err == nil {
			return base64.StdEncoding.EncodeToString(b)
		}
	case meta.Password, meta.AssetType, meta.Opaque:
		return v.Text
	}
	return nil
}

func parseBool(v Value) any {
	switch strings.ToLower(v.Text) {
	case "true":
		return true
	case "false":
		return false
	}
	return nil
}

// decimal is the only spelling of numbers taken: no hexadecimal, no Inf.
func decimal(s string) bool {
	return s != "" && strings.Trim(s, "0123456789+-.eE") == ""
}

func parseFloat(v Value) any {
	if v.Kind == Bool || !decimal(v.Text) {
		return nil
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil
	}
	if f == 0 {
		f = 0 // no negative zero
	}
	return f
}

func parseInt(v Value) any {
	if v.Kind == Bool {
		return nil
	}
	if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
		return n
	}
	return nil
}
