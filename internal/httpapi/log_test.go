package httpapi

import "testing"

func TestWithoutValues(t *testing.T) {
	for msg, want := range map[string]string{
		"Invalid QueryFilter2 token Password='hush'":                        "Invalid QueryFilter2 token Password='…'",
		"Invalid QueryFilter2 token Password='hush":                         "Invalid QueryFilter2 token Password='…'",
		"Invalid QueryFilter2 token A!='it''s hush','hush';B":               "Invalid QueryFilter2 token A!='…','…';B",
		`Invalid QueryFilter2 token Password~="hush"|Name>'a'`:              "Invalid QueryFilter2 token Password~='…'|Name>'…'",
		"Invalid YAML: line 2: unknown anchor 'hush' referenced.":           "Invalid YAML: line 2: unknown anchor '…' referenced.",
		"Violation'Invalid'Member.Password":                                 "Violation'Invalid'Member.Password",
		"Unknown Operation 'Story.Frobnicate'":                              "Unknown Operation 'Story.Frobnicate'",
		"Invalid JSON at byte 18: invalid escape sequence `\\q` in string.": "Invalid JSON at byte 18: invalid escape sequence `\\q` in string.",
		"": "",
	} {
		if got := withoutValues(msg); got != want {
			t.Errorf("%s: %s, want %s", msg, got, want)
		}
	}
}
