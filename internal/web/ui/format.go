package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// BytesOf writes a number of bytes as people read it; nothing for what is none.
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

// Decimal writes a number that was computed with at most two decimals; what is none
// stays.
func Decimal(text string) string {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(n) > 1e12 {
		return text
	}
	return strconv.FormatFloat(math.Round(n*100)/100+0, 'f', -1, 64) // + 0: no -0
}

// UTCInstant reads what a field for a date and time sends.
func UTCInstant(text string) (at time.Time, err error) {
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339, time.DateOnly} {
		if at, err = time.Parse(form, strings.Replace(strings.TrimSuffix(text, " UTC"), " ", "T", 1)); err == nil {
			return at.UTC(), nil
		}
	}
	return at, err
}

// Counted writes a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands writes a number with commas.
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
