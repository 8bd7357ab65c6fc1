package ui

import (
	"testing"
	"time"
)

func TestBytesOf(t *testing.T) {
	for text, want := range map[string]string{"": "", "x": "", "-1": "", "0": "0 B", "1023": "1023 B", "1024": "1 KiB", "1536": "1.5 KiB", "2097152": "2 MiB", "26214400": "25 MiB", "1073741824": "1 GiB"} {
		if got := BytesOf(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDecimal(t *testing.T) {
	for text, want := range map[string]string{
		"0.00001127224537037037": "0", "-0.001": "0", "0.30000000000000004": "0.3", "12.3456": "12.35", "-1.5": "-1.5", "1234567": "1234567", "": "", "soon": "soon", "1e300": "1e300", "NaN": "NaN",
	} {
		if got := Decimal(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestUTCInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-31T12:00":          "2026-01-31T12:00:00Z",
		"2026-01-31 12:00":          "2026-01-31T12:00:00Z",
		"2026-01-31 12:00 UTC":      "2026-01-31T12:00:00Z",
		"2026-01-31 12:00:07":       "2026-01-31T12:00:07Z",
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"2026-01-31T12:00:00+01:00": "2026-01-31T11:00:00Z",
		"soon":                      "",
		"31.1.2026":                 "",
	} {
		got := ""
		if at, err := UTCInstant(text); err == nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestNumbersAsPeopleReadThem(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", -1000: "-1,000", -100: "-100", 1234567: "1,234,567"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0 assets", 1: "1 asset", 2: "2 assets", 1000: "1,000 assets"} {
		if got := Counted(n, "asset", "assets"); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
