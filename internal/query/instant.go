package query

import "time"

// instantForms are the ways clients write dates and times. Those without a
// zone are UTC.
var instantForms = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
	"1/2/2006",
	"1/2/2006 15:04:05",
}

// ParseInstant reads a date or a time as UTC microseconds.
// Shape: 2019-11-21T16:45:34.822Z, 2016-06-19, 12/31/2019.
func ParseInstant(text string) (int64, bool) {
	for _, form := range instantForms {
		if t, err := time.ParseInLocation(form, text, time.UTC); err == nil {
			return t.UnixMicro(), true
		}
	}
	return 0, false
}
