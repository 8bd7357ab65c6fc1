package account

import (
	"strings"
	"testing"
	"time"
)

// TestExpiry checks that the messages about a wrong expiry use the words of the form.
func TestExpiry(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-02-01":       "2026-02-01T00:00:00Z",
		"2026-01-31 12:01": "2026-01-31T12:01:00Z",
		"2026-01-31":       "that is over already. In UTC it is 2026-01-31 12:00",
		"2025-02-01":       "that is over already",
		"31.12.2027":       "write a day such as",
		"soon":             "write a day such as",
	} {
		got, err := expiry(text, now)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
