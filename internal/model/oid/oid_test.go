package oid

import (
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want OID
	}{
		{"Story:1234", OID{"Story", 1234, 0}},
		{"Story:1234:9876", OID{"Story", 1234, 9876}},
		{"Scope:0", OID{"Scope", 0, 0}},
		{"HierarchyRelationDefinition:-57", OID{"HierarchyRelationDefinition", -57, 0}},
		{"AssetType:-5001:1234", OID{"AssetType", -5001, 1234}},
		{"Custom_BaF_Status:1047", OID{"Custom_BaF_Status", 1047, 0}},
		{"NULL", OID{}},
	} {
		got, err := Parse(c.in)
		if err != nil || got != c.want {
			t.Errorf("Parse(%q) = %+v, %v; want %+v", c.in, got, err, c.want)
		}
		if got.String() != c.in {
			t.Errorf("Parse(%q).String() = %q", c.in, got.String())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for what, in := range map[string]string{
		"empty":                 "",
		"no id":                 "Story",
		"empty id":              "Story:",
		"no type":               ":12",
		"minus zero":            "Story:-0",
		"two signs":             "Story:--1",
		"minus alone":           "Story:-",
		"negative moment":       "Story:1:-2",
		"zero behind the minus": "Story:-01",
		"letters in the id":     "Story:abc",
		"leading zero":          "Story:01",
		"more digits than fit":  "Story:12345678901234567890",
		"empty moment":          "Story:1:",
		"four parts":            "Story:1:2:3",
		"a space in the type":   "My Story:1",
		"an alias, not a token": "@story",
		"plus sign":             "Story:+1",
	} {
		if got, err := Parse(in); fault.KindOf(err) != fault.Invalid || fault.Public(err) != "Invalid OID token: "+in {
			t.Errorf("%s: Parse(%q) = %+v, %v", what, in, got, err)
		}
	}
}
