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

// Type is the kind of an event, as the interface spells it.
type Type string

// The types of events.
const (
	AssetCreated Type = "AssetCreated"
	AssetChanged Type = "AssetChanged"
)

// Test is the type of test events. No definition can name it.
const Test Type = "Test"

// Values are the values of a variable; each of them matches.
//
// Shape: in JSON a string, split at commas, or a list taken verbatim.
type Values []string

// MarshalJSON writes a single value without commas as a string.
func (v Values) MarshalJSON() ([]byte, error) {
	if len(v) == 1 && !strings.Contains(v[0], ",") {
		return json.Marshal(v[0])
	}
	return json.Marshal([]string(v))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Values) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*v = Values{""}
		return json.Unmarshal(text, &(*v)[0])
	}
	return json.Unmarshal(text, (*[]string)(v))
}

// Variables returns With in the form of Finder.
func (d *Definition) Variables() map[string][]string {
	with := make(map[string][]string, len(d.With))
	for name, values := range d.With {
		with[name] = values
	}
	return with
}
