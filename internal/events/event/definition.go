package event

import (
	"encoding/json"
	"strings"
)

// Definition is one event definition.
// Spec: interface 6.1.
type Definition struct {
	Type        Type              `json:"type"`
	From        string            `json:"from"`
	Attributes  []string          `json:"attributes,omitempty"`
	Filter      []string          `json:"filter,omitempty"`
	With        map[string]Values `json:"with,omitempty"`
	UserContext string            `json:"userContext,omitempty"`
	Select      []string          `json:"select,omitempty"`
}

// Type is the type of an event, in the spelling of the interface.
type Type string

// The types that a definition can have.
const (
	AssetCreated Type = "AssetCreated"
	AssetChanged Type = "AssetChanged"
)

// Test is the type of test events. A definition cannot have this type.
const Test Type = "Test"

// Values are the values of a variable, which a filter uses as a list of values. In JSON, a single
// value without commas is a string; otherwise the values are a list of strings.
type Values []string

// MarshalJSON writes a single value without commas as a string.
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 && !strings.Contains(v[0], ",") {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// UnmarshalJSON reads a text that MarshalJSON has written.
func (v *Values) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*v = Values{""}
		return json.Unmarshal(text, &(*v)[0])
	}
	return json.Unmarshal(text, (*[]string)(v))
}

// Variables returns the field With, converted to the type that Finder uses.
func (d *Definition) Variables() map[string][]string {
	with := make(map[string][]string, len(d.With))
	for name, values := range d.With {
		with[name] = values
	}
	return with
}
