package rest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/write/asset"
)

// printed returns the changes of a body as text, one attribute per line.
func printed(all []asset.Change) string {
	var b strings.Builder
	part := func(name string, values []asset.Value) {
		for i, v := range values {
			if i == 0 {
				b.WriteString(" " + name)
			}
			fmt.Fprintf(&b, " %d:%s", v.Kind, v.Text)
		}
	}
	for _, ch := range all {
		b.WriteString(ch.Name)
		part("set", ch.Set)
		part("add", ch.Add)
		part("remove", ch.Remove)
		switch {
		case ch.Bad == asset.ErrForm: //nolint:errorlint // no wrapped error
			b.WriteString(" bad form")
		case ch.Bad != nil:
			b.WriteString(" " + ch.Bad.Error())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestDecode(t *testing.T) {
	for what, c := range map[string]struct{ body, want string }{
		"an empty body":              {" \n", ""},
		"null":                       {"null", ""},
		"no attributes":              {`{"Attributes":null}`, ""},
		"an asset as it was read":    {`{"_type":"Asset","id":"Story:1","href":"/x","Attributes":{"Name":{"_type":"Attribute","name":"Name","value":"A"}}}`, "Name set 1:A\n"},
		"plain values":               {`{"Attributes":{"Name":"A","Estimate":3.0,"IsX":true,"Super":null}}`, "Name set 1:A\nEstimate set 2:3.0\nIsX set 3:true\nSuper set 0:\n"},
		"an act of its own":          {`{"Attributes":{"Owners":{"value":[{"idref":"Member:20","act":"remove"},{"idref":"Member:21"}],"act":"add"}}}`, "Owners add 1:Member:21 remove 1:Member:20\n"},
		"a list is added":            {`{"Attributes":{"Owners":["Member:20",{"idref":"Member:21"}],"TaggedWith":[{"value":"x","act":"remove"}]}}`, "Owners add 1:Member:20 1:Member:21\nTaggedWith remove 1:x\n"},
		"a list that is to be set":   {`{"Attributes":{"Owners":{"act":"set","value":["Member:20"]}}}`, "Owners add 1:Member:20\n"},
		"an empty list":              {`{"Attributes":{"Owners":[]}}`, "Owners\n"},
		"a relation by idref":        {`{"Attributes":{"Scope":{"idref":"Scope:0"}}}`, "Scope set 1:Scope:0\n"},
		"an object without a value":  {`{"Attributes":{"Name":{"act":"set"}}}`, "Name bad form\n"},
		"an item without a value":    {`{"Attributes":{"Owners":[{"act":"add"}]}}`, "Owners bad form\n"},
		"a list in a list":           {`{"Attributes":{"Owners":[["Member:20"]]}}`, "Owners bad form\n"},
		"an object for a value":      {`{"Attributes":{"Name":{"value":{"x":1}}}}`, "Name bad form\n"},
		"a word that is no act":      {`{"Attributes":{"Name":{"value":"A","act":"toggle"}}}`, "Name Unknown act: toggle\n"},
		"a number for an act":        {`{"Attributes":{"Name":{"value":"A","act":7}}}`, "Name Unknown act: 7\n"},
		"a number at the top":        {"7", "0 The body must be an object with Attributes"},
		"a list at the top":          {`[{"Attributes":{}}]`, "0 The body must be an object with Attributes"},
		"an unknown key":             {`{"Attribute":{}}`, "13 Invalid key at node(s): root->Attribute"},
		"attributes that are a list": {`{"Attributes":["Name"]}`, "14 Attributes must be an object of names and values"},
		"an attribute twice":         {`{"Attributes":{"Name":"A","Name":"B"}}`, "26 Invalid JSON at byte 26: duplicate object member name."},
		"no JSON":                    {`{"Attributes":`, "14 Invalid JSON at byte 14: it ends too early."},
		"YAML":                       {"Attributes:\n  Name: A\n", "0 Invalid JSON at byte 0: invalid character 'A' at start of value."},
		"a byte that is no UTF-8":    {"{\"Attributes\":{\"Name\":\"\xff\"}}", "23 The body is not valid UTF-8 at byte 23."},
		"10,000 lists deep":          {`{"Attributes":{"Name":` + strings.Repeat("[", 10_000), "120 The body is nested deeper than 100 levels."},
	} {
		all, _, err := decode([]byte(c.body))
		got := printed(all)
		if err != nil {
			got = fmt.Sprintf("%d %s", fault.Place(err), fault.Public(err))
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
