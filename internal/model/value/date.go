package value

import (
	"time"

	"github.com/alds-dev/alds/internal/model/meta"
)

// dateForms are the accepted forms of a date or time. Without a zone it is UTC.
var dateForms = [...]string{
	time.DateOnly,
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04Z07:00",
	"2006-01-02 15:04",
	"1/2/2006",
	"1/2/2006 15:04",
	"1/2/2006 15:04:05",
	"1/2/2006 3:04 PM",
	"1/2/2006 3:04:05 PM",
}

// The printed forms of dates, in UTC. Attributes with the property UTC use dateUTC, which has seven
// decimals. Other attributes use dateTime. A date without a time of day is printed as
// time.DateOnly.
const (
	dateTime = "2006-01-02T15:04:05.000"
	dateUTC  = "2006-01-02T15:04:05.0000000Z"
)

// Instant reads a date or a time as UTC microseconds. Examples: 2019-11-21T16:45:34.822Z,
// 2016-06-19, 12/31/2019, 1/2/2026 3:04 PM.
func Instant(text string) (micros int64, ok bool) { return instant(text, asInstant) }

func parseDate(text string, dayOnly bool) (any, bool) {
	if dayOnly {
		return instant(text, beginningOfDay)
	}
	return instant(text, asInstant)
}

// asInstant returns a time unchanged.
func asInstant(t time.Time) time.Time { return t }

// beginningOfDay returns midnight UTC of the calendar day in the text, ignoring its zone.
func beginningOfDay(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// onCalendar returns the calendar day and time of day of the text as UTC, ignoring its zone.
func onCalendar(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant reads an ISO or US date, and returns UTC microseconds. The parameter in is a function
// that first converts the date, for example to midnight.
func instant(text string, in func(time.Time) time.Time) (micros int64, ok bool) {
	for _, form := range dateForms {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		t = in(t)
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			return 0, false
		}
		return t.UnixMicro(), true
	}
	return 0, false
}

// AppendInstant appends a time, given in UTC microseconds, with seven decimals of the second.
// Example: 2026-01-02T15:04:05.1234560Z, without quotes.
func AppendInstant(w []byte, micros int64) []byte {
	return time.UnixMicro(micros).UTC().AppendFormat(w, dateUTC)
}

// appendDate appends a time, given in UTC microseconds, as JSON. The attribute decides the form of
// the date.
func appendDate(w []byte, v Scalar, a *meta.Attr) []byte {
	if _, ok := v.Int64(); !ok {
		return append(w, "null"...)
	}
	return append(appendPlainDate(append(w, '"'), v, a), '"')
}

// appendPlainDate is like appendDate, but appends the date without quotes. It appends nothing if v
// is not a number.
func appendPlainDate(w []byte, v Scalar, a *meta.Attr) []byte {
	micros, ok := v.Int64()
	if !ok {
		return w
	}
	form := dateTime
	if a != nil && a.DateOnly {
		form = time.DateOnly
	} else if a != nil && a.UTC {
		form = dateUTC
	}
	return time.UnixMicro(micros).UTC().AppendFormat(w, form)
}
