package value

import (
	"testing"

	"github.com/alds-dev/alds/internal/model/meta"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		kind meta.Kind
		day  bool
		text string
		want any // nil: the text is not a value of the kind
	}{
		{meta.Boolean, false, "TRUE", true},
		{meta.Boolean, false, "false", false},
		{meta.Boolean, false, "1", nil},
		{meta.Boolean, false, "falſe", nil},
		{meta.Numeric, false, "+1.50e1", 15.0},
		{meta.Numeric, false, ".5", 0.5},
		{meta.Numeric, false, "0x10", nil},
		{meta.Numeric, false, "Inf", nil},
		{meta.Numeric, false, "1e400", nil},
		{meta.Numeric, false, "1_000", nil},
		{meta.LongInt, false, "-007", int64(-7)},
		{meta.LongInt, false, "1.0", nil},
		{meta.Rank, false, "9223372036854775808", nil},
		{meta.State, false, "broken down", int64(208)},
		{meta.State, false, "255", int64(255)},
		{meta.State, false, "256", nil},
		{meta.State, false, "Dead", nil},
		{meta.Duration, false, "2 Weeks", "2 Weeks"},
		{meta.Duration, false, "2 weeks", nil},
		{meta.GUID, false, "{6BA7B810-9DAD-11D1-80B4-00C04FD430C8}", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		{meta.GUID, false, "6ba7", nil},
		{meta.Blob, false, "YQ==", "YQ=="},
		{meta.Blob, false, "YQ=", nil},
		{meta.Date, false, "1970-01-02", int64(86400_000_000)},
		{meta.Date, false, "12/31/1969", int64(-86400_000_000)},
		{meta.Date, false, "1970-01-01T01:00:01+01:00", int64(1_000_000)},
		{meta.Date, false, "1970-01-01 00:00:01.5", int64(1_500_000)},
		{meta.Date, false, "1/1/1970 3:04 PM", int64((15*60 + 4) * 60_000_000)},
		{meta.Date, true, "1970-01-02T23:30:00-05:00", int64(86400_000_000)},
		{meta.Date, false, "10000-01-01", nil},
		{meta.Date, false, "0000-01-01", nil},
		{meta.Date, false, "2026-02-30", nil},
		{meta.Date, false, "2026", nil},
		{meta.Date, false, "yesterday", nil},
		{meta.Text, false, " x ", " x "},
	} {
		got, ok := Parse(c.kind, c.day, c.text)
		if ok != (c.want != nil) || ok && got != c.want {
			t.Errorf("%s %q: got %v, %v; want %v", c.kind, c.text, got, ok, c.want)
		}
	}
}

func TestNoNegativeZero(t *testing.T) {
	got, _ := Parse(meta.Numeric, false, "-0")
	if f, _ := got.(float64); 1/f < 0 {
		t.Error("zero is negative")
	}
}
