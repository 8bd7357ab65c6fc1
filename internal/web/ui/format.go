package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// BytesOf formats a number of bytes with a unit, such as "1.5 KiB". It returns "" if the text
// is not a number or is negative.
func BytesOf(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 {
		return ""
	}
	units := []string{"B", "KiB", "MiB", "GiB"}
	unit := 0
	for ; n >= 1024 && unit < len(units)-1; unit++ {
		n /= 1024
	}
	return strings.TrimSuffix(strconv.FormatFloat(n, 'f', min(1, unit), 64), ".0") + " " + units[unit]
}

// Decimal rounds a computed number to at most two decimals. It returns other text, and numbers
// above 1e12, unchanged.
func Decimal(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(n) > 1e12 {
		return text
	}
	return strconv.FormatFloat(math.Round(n*100)/100+0, 'f', -1, 64) // + 0: no -0
}

// UTCInstant parses the value of a form field for a date or a date and time. Without a zone it
// is UTC.
func UTCInstant(text string) (at time.Time, err error) {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if at, err = time.Parse(form, strings.Replace(strings.TrimSuffix(text, " UTC"), " ", "T", 1)); err == nil {
			return at.UTC(), nil
		}
	}
	return at, err
}

// Counted formats a number with its noun, such as "1 asset" or "2 assets".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands formats a number with commas.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
