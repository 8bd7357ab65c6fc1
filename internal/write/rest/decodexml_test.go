package rest

import (
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/fault"
)

// TestDecodeXML compares each body in XML with the equivalent body in JSON.
func TestDecodeXML(t *testing.T) {
	for what, c := range map[string]struct{ body, json, want string }{
		"nothing":                         {`<Asset/>`, "", ""},
		"white space":                     {" \n<Asset>\n</Asset>\n", "", ""},
		"an asset as it was read":         {`<Asset href="/x" id="Story:1:2"><Attribute name="Name">A</Attribute></Asset>`, `"Name": "A"`, "Name set 1:A\n"},
		"a text":                          {`<Asset><Attribute name="Name" act="set">A</Attribute></Asset>`, `"Name": {"value": "A", "act": "set"}`, "Name set 1:A\n"},
		"act in front of name":            {`<Asset><Attribute act="set" name="Name">A</Attribute></Asset>`, `"Name": {"act": "set", "value": "A"}`, "Name set 1:A\n"},
		"a text with markup":              {`<Asset><Attribute name="Name">&lt;p>x&amp;y</Attribute></Asset>`, `"Name": "<p>x&y"`, "Name set 1:<p>x&y\n"},
		"CDATA":                           {`<Asset><Attribute name="Name"><![CDATA[<p>x&amp;]]></Attribute></Asset>`, `"Name": "<p>x&amp;"`, "Name set 1:<p>x&amp;\n"},
		"white space is a text":           {"<Asset><Attribute name=\"Name\"> A\n</Attribute></Asset>", `"Name": " A\n"`, "Name set 1: A\n\n"},
		"an empty attribute":              {`<Asset><Attribute name="Name" act="set"/><Attribute name="Super" act="set"></Attribute></Asset>`, `"Name": null, "Super": {"value": null, "act": "set"}`, "Name set 0:\nSuper set 0:\n"},
		"an empty one to be added":        {`<Asset><Attribute name="Name" act="add"/></Asset>`, `"Name": {"value": null, "act": "add"}`, "Name set 0:\n"},
		"one to be added":                 {`<Asset><Attribute name="TaggedWith" act="add">a</Attribute></Asset>`, `"TaggedWith": {"value": "a", "act": "add"}`, "TaggedWith add 1:a\n"},
		"one to be removed":               {`<Asset><Attribute name="TaggedWith" act="remove">a</Attribute></Asset>`, `"TaggedWith": {"value": "a", "act": "remove"}`, "TaggedWith remove 1:a\n"},
		"values":                          {`<Asset><Attribute name="TaggedWith"> <Value act="add">a</Value> <Value act="remove">b</Value> <Value>c</Value> </Attribute></Asset>`, `"TaggedWith": [{"value": "a", "act": "add"}, {"value": "b", "act": "remove"}, "c"]`, "TaggedWith add 1:a 1:c remove 1:b\n"},
		"one value":                       {`<Asset><Attribute name="TaggedWith"><Value>a</Value></Attribute></Asset>`, `"TaggedWith": ["a"]`, "TaggedWith add 1:a\n"},
		"values to be removed":            {`<Asset><Attribute act="remove" name="TaggedWith"><Value>a</Value><Value act="add">b</Value></Attribute></Asset>`, `"TaggedWith": {"act": "remove", "value": ["a", {"value": "b", "act": "add"}]}`, "TaggedWith add 1:b remove 1:a\n"},
		"values to be set":                {`<Asset><Attribute act="set" name="TaggedWith"><Value>a</Value><Value act="set">b</Value></Attribute></Asset>`, `"TaggedWith": {"act": "set", "value": ["a", {"value": "b", "act": "set"}]}`, "TaggedWith add 1:a 1:b\n"},
		"an empty value":                  {`<Asset><Attribute name="TaggedWith"><Value/><Value act="remove"/></Attribute></Asset>`, `"TaggedWith": [null, {"value": null, "act": "remove"}]`, "TaggedWith add 0: remove 0:\n"},
		"a relation":                      {`<Asset><Relation name="Scope" act="set"><Asset idref="Scope:0" href="/x"/></Relation></Asset>`, `"Scope": {"value": {"idref": "Scope:0", "href": "/x"}, "act": "set"}`, "Scope set 1:Scope:0\n"},
		"a relation without act":          {"<Asset><Relation name=\"Scope\">\n<Asset idref=\"Scope:0\"></Asset>\n</Relation></Asset>", `"Scope": {"idref": "Scope:0"}`, "Scope set 1:Scope:0\n"},
		"a relation with the asset's act": {`<Asset><Relation name="Scope"><Asset act="set" idref="Scope:0"/></Relation></Asset>`, `"Scope": {"value": {"idref": "Scope:0", "act": "set"}}`, "Scope set 1:Scope:0\n"},
		"a relation with a moment":        {`<Asset><Relation name="Owners"><Asset idref="Member:20:7" act="add"/></Relation></Asset>`, `"Owners": [{"idref": "Member:20:7", "act": "add"}]`, "Owners add 1:Member:20:7\n"},
		"one to be removed of a relation": {`<Asset><Relation name="Owners" act="remove"><Asset idref="Member:20"/></Relation></Asset>`, `"Owners": {"value": {"idref": "Member:20"}, "act": "remove"}`, "Owners remove 1:Member:20\n"},
		"several":                         {`<Asset><Relation name="Owners"><Asset idref="Member:20" act="add"/><Asset idref="Member:21" act="remove"/><Asset idref="Member:22"/></Relation></Asset>`, `"Owners": [{"idref": "Member:20", "act": "add"}, {"idref": "Member:21", "act": "remove"}, {"idref": "Member:22"}]`, "Owners add 1:Member:20 1:Member:22 remove 1:Member:21\n"},
		"several to be set":               {`<Asset><Relation name="Owners" act="set"><Asset idref="Member:20"/><Asset idref="Member:21"/></Relation></Asset>`, `"Owners": {"act": "set", "value": ["Member:20", "Member:21"]}`, "Owners add 1:Member:20 1:Member:21\n"},
		"several to be removed":           {`<Asset><Relation name="Owners" act="remove"><Asset idref="Member:20"/><Asset idref="Member:21" act="add"/></Relation></Asset>`, `"Owners": {"act": "remove", "value": ["Member:20", {"idref": "Member:21", "act": "add"}]}`, "Owners add 1:Member:21 remove 1:Member:20\n"},
		"a relation without assets":       {`<Asset><Relation name="Super" act="set"/><Relation name="Name" act="set"> </Relation><Relation name="Owners"/></Asset>`, `"Super": null, "Name": null, "Owners": null`, "Super set 0:\nName set 0:\nOwners set 0:\n"},
		"a relation to nothing":           {`<Asset><Relation name="Super"><Asset idref=""/></Relation></Asset>`, `"Super": {"idref": ""}`, "Super set 1:\n"},
		"an asset without idref":          {`<Asset><Relation name="Owners"><Asset href="/x"/><Asset idref="Member:20"/></Relation></Asset>`, `"Owners": [{"href": "/x"}, "Member:20"]`, "Owners add 1:Member:20 bad form\n"},
		"a relation as an attribute":      {`<Asset><Attribute name="Status" act="set">StoryStatus:133</Attribute></Asset>`, `"Status": {"value": "StoryStatus:133", "act": "set"}`, "Status set 1:StoryStatus:133\n"},
		"a word that is no act":           {`<Asset><Attribute name="Name" act="toggle">A</Attribute></Asset>`, `"Name": {"value": "A", "act": "toggle"}`, "Name Unknown act: toggle\n"},
		"an act in other letters":         {`<Asset><Relation name="Owners"><Asset idref="Member:20" act="Add"/></Relation></Asset>`, `"Owners": [{"idref": "Member:20", "act": "Add"}]`, "Owners Unknown act: Add\n"},
		"no act of no asset":              {`<Asset><Relation name="Owners" act="no"/></Asset>`, `"Owners": {"value": null, "act": "no"}`, "Owners Unknown act: no\n"},
		"what XML clients add":            {`<?xml version="1.0" encoding="utf-16"?><Asset xmlns:xsi="x" xsi:type="y"><Attribute xmlns="" name="Name" of="z">A</Attribute><!-- --></Asset>`, `"Name": "A"`, "Name set 1:A\n"},
	} {
		got, _, err := decode([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		same, _, err := decode([]byte(`{"Attributes": {` + c.json + "}}"))
		if err != nil {
			t.Errorf("%s: the JSON: %v", what, err)
		}
		if printed(got) != c.want || printed(same) != c.want {
			t.Errorf("%s: %q, as JSON %q, want %q", what, printed(got), printed(same), c.want)
		}
	}
}

// TestRefusedInXML marks the position of each error with "^". The mark is removed from the body.
func TestRefusedInXML(t *testing.T) {
	for what, c := range map[string]struct{ body, want string }{
		"another root":                   {"\n^<Story/>", "The body must be an Asset with Attributes and Relations"},
		"assets":                         {"^<Assets><Asset/></Assets>", "The body must be an Asset with Attributes and Relations"},
		"a root in small letters":        {"^<asset/>", "The body must be an Asset with Attributes and Relations"},
		"a text":                         {"<Asset>^x</Asset>", "Text at node(s): root"},
		"an unknown element":             {"<Asset><Attribute name=\"Name\"/>^<Name>x</Name></Asset>", "Invalid key at node(s): root->Name"},
		"an attribute without a name":    {`<Asset>^<Attribute act="set">x</Attribute></Asset>`, "Attribute must have a name"},
		"a relation without a name":      {`<Asset>^<Relation p:name="x"/></Asset>`, "Relation must have a name"},
		"an attribute twice":             {`<Asset><Attribute name="Name"/><Relation name="^Name"/></Asset>`, `The attribute "Name" comes twice`},
		"an asset in an attribute":       {`<Asset><Attribute name="Scope">^<Asset idref="Scope:0"/></Attribute></Asset>`, "Invalid key at node(s): root->Attribute->Asset"},
		"a value in a relation":          {`<Asset><Relation name="Scope"> ^<Value>Scope:0</Value></Relation></Asset>`, "Invalid key at node(s): root->Relation->Value"},
		"a text in a relation":           {`<Asset><Relation name="Scope">^Scope:0</Relation></Asset>`, "Text at node(s): root->Relation"},
		"a text and a value":             {`<Asset><Attribute name="TaggedWith"> ^x<Value>y</Value></Attribute></Asset>`, "Invalid XML at byte 37: an element has both text and elements."},
		"a value and a text":             {`<Asset><Attribute name="TaggedWith"><Value>y</Value>^x</Attribute></Asset>`, "Invalid XML at byte 52: an element has both text and elements."},
		"an element in a value":          {`<Asset><Attribute name="TaggedWith"><Value>^<b/></Value></Attribute></Asset>`, "Invalid key at node(s): root->Attribute->Value->b"},
		"an element in an asset":         {`<Asset><Relation name="Scope"><Asset idref="Scope:0">^<Attribute name="Name"/></Asset></Relation></Asset>`, "Invalid key at node(s): root->Relation->Asset->Attribute"},
		"a text in an asset":             {`<Asset><Relation name="Scope"><Asset idref="Scope:0">^x</Asset></Relation></Asset>`, "Text at node(s): root->Relation->Asset"},
		"no XML":                         {"<Asset><Attribute^", "Invalid XML at byte 17: it ends too early."},
		"a document type":                {`^<!DOCTYPE Asset SYSTEM "file:///etc/passwd"><Asset/>`, "Invalid XML at byte 0: a document type is not accepted."},
		"a million relations one in one": {`<Asset>` + strings.Repeat(`<Relation>`, 99) + "^" + strings.Repeat(`<Relation>`, 1_000_000), "The body is nested deeper than 100 levels."},
	} {
		place := strings.IndexByte(c.body, '^')
		_, _, err := decode([]byte(c.body[:place] + c.body[place+1:]))
		if fault.KindOf(err) != fault.Invalid || fault.Place(err) != place || fault.Public(err) != c.want {
			t.Errorf("%s: %d %s, want %d %s", what, fault.Place(err), fault.Public(err), place, c.want)
		}
	}
}

// TestPlacesInXML marks the position of each value with "^". The marks are removed from the
// body.
func TestPlacesInXML(t *testing.T) {
	marked := `<Asset><Attribute name="A">^x</Attribute>^<Attribute name="B"/>^<Attribute name="C"><Value>x</Value></Attribute>` +
		`<Relation name="D"><Asset idref="^Scope:0"/></Relation>^<Relation name="E"/>^<Relation name="F"><Asset idref="a"/><Asset idref="b"/></Relation></Asset>`
	var want, got []int
	for i, c := range marked {
		if c == '^' {
			want = append(want, i-len(want))
		}
	}
	all, _, err := decode([]byte(strings.ReplaceAll(marked, "^", "")))
	for _, ch := range all {
		got = append(got, ch.At)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	for body, want := range map[string]int{
		`<Asset><Attribute name="A" act="x">y</Attribute></Asset>`:                                  35,
		`<Asset><Relation name="A"><Asset idref="a"/><Asset act="x" idref="b"/></Relation></Asset>`: 66,
		`<Asset><Attribute name="A"><Value>a</Value><Value act="x">b</Value></Attribute></Asset>`:   58,
		`<Asset><Attribute name="A" act="x"/></Asset>`:                                              7,
		`<Asset><Relation name="A" act="x"/></Asset>`:                                               7,
	} {
		all, _, err := decode([]byte(body))
		if err != nil || len(all) != 1 || fault.Place(all[0].Bad) != want {
			t.Errorf("%s: %+v, %v, want an unknown act at %d", body, all, err, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`<Asset><Attribute name="Name" act="set">x</Attribute><Relation name="Owners"><Asset idref="Member:20" act="add"/></Relation></Asset>`,
		`<Asset><Attribute name="TaggedWith"><Value act="add">a</Value><Value/></Attribute><Relation name="Scope" act="set"/></Asset>`,
		`{"Attributes": {"Name": {"value": "x", "act": "set"}, "Owners": [{"idref": "Member:20", "act": "add"}]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		all, _, err := decode(body)
		if err != nil {
			if at := fault.Place(err); fault.KindOf(err) != fault.Invalid || at < 0 || at > len(body) {
				t.Fatalf("malformed error %#v of %q", err, body)
			}
			return
		}
		seen := map[string]bool{}
		for _, ch := range all {
			if seen[ch.Name] || ch.At < 0 || ch.At > len(body) || len(ch.Set) > 0 && len(ch.Add)+len(ch.Remove) > 0 && ch.Bad == nil {
				t.Fatalf("malformed change %+v of %q", ch, body)
			}
			seen[ch.Name] = true
		}
	})
}
