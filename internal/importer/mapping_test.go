package importer

import (
	"strings"
	"testing"
)

// TestMappingsThatAreRefused checks that the error for a wrong mapping says what is wrong in it.
func TestMappingsThatAreRefused(t *testing.T) {
	const rest = "\nkey: key\ntype: {default: Story}\n"
	for text, want := range map[string]string{
		"":                                "it is empty",
		"keys: key" + rest:                "keys",
		"separator: ';;'" + rest:          `separator must be one character, not ";;"`,
		"type: {default: Story}":          "key must name the column",
		"key: key":                        "type must say which asset type",
		"key: {columns: key}\ntype: kind": "unknown key columns",
		"comments: {column: c, unknown: perhaps}" + rest:                      "comments: unknown must be reject, leave out or create, not perhaps",
		"attributes: {Name: {column: n, zone: Moon/Base}}" + rest:             "Name: unknown time zone Moon/Base",
		"attributes: {Owners: {column: o, unknown: never}}" + rest:            "Owners: unknown must be reject",
		"attributes: {Super: {column: s, key: true, unknown: create}}" + rest: "cannot have `unknown: create`",
	} {
		if _, err := ReadMapping(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	m, err := ReadMapping(strings.NewReader("comments: {column: c}" + rest))
	if err != nil || m.Separator != "," || m.Key.Attribute != "Reference" || m.Comments.Unknown != leaveOut {
		t.Errorf("defaults: %+v, %v", m, err)
	}
}
