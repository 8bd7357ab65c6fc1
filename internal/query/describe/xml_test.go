package describe

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// TestXML checks the bytes of a part, and the first bytes of a type and of the whole model.
func TestXML(t *testing.T) {
	const base = "/alds/meta.v1"
	docs := New(meta.Default(), "1.2.3.4")
	for name, want := range map[string]string{
		"Scope": `<AttributeDefinition href="/alds/meta.v1/Story/Scope" of="/alds/meta.v1/Story" version="1.2.3.4"` +
			` name="Scope" token="Story.Scope" displayname="AttributeDefinition'Scope'Story" attributetype="Relation"` +
			` isreadonly="False" isrequired="True" ismultivalue="False" iscanned="True" iscustom="False">` +
			`<Base href="/alds/meta.v1/Workitem/Scope" tokenref="Workitem.Scope"/>` +
			`<ReciprocalRelation href="/alds/meta.v1/Scope/Workitems" tokenref="Scope.Workitems"/>` +
			`<OrderByAttribute href="/alds/meta.v1/Story/Scope.Name" tokenref="Story.Scope.Name"/>` +
			`<DisplayByAttribute href="/alds/meta.v1/Story/Scope.Name" tokenref="Story.Scope.Name"/>` +
			`<RelatedAsset nameref="Scope" href="/alds/meta.v1/Scope"/></AttributeDefinition>`,
		"Owners.Nickname": `<AttributeDefinition href="/alds/meta.v1/Story/Owners.Nickname" of="/alds/meta.v1/Story" version="1.2.3.4"` +
			` name="Owners.Nickname" token="Story.Owners.Nickname" displayname="AttributeDefinition'Nickname'Member" attributetype="Text"` +
			` isreadonly="True" isrequired="True" ismultivalue="True" iscanned="True" iscustom="False">` +
			`<RelatedAttribute href="/alds/meta.v1/Member/Nickname" tokenref="Member.Nickname"/></AttributeDefinition>`,
		`Owners[Nickname='a&b<'].@Count`: `<AttributeDefinition` +
			` href="/alds/meta.v1/Story/Owners%5BNickname=%27a&amp;b%3C%27%5D.@Count" of="/alds/meta.v1/Story" version="1.2.3.4"` +
			` name="Owners[Nickname='a&amp;b&lt;'].@Count" token="Story.Owners[Nickname='a&amp;b&lt;'].@Count"` +
			` displayname="AttributeDefinition'Owners'Story" attributetype="Numeric"` +
			` isreadonly="True" isrequired="False" ismultivalue="False" iscanned="True" iscustom="False">` +
			`<OrderByAttribute href="/alds/meta.v1/Story/Owners%5BNickname=%27a&amp;b%3C%27%5D.@Count" tokenref="Story.Owners[Nickname='a&amp;b&lt;'].@Count"/>` +
			`<RelatedAttribute href="/alds/meta.v1/Story/Owners" tokenref="Story.Owners"/></AttributeDefinition>`,
		"Delete": `<Operation href="/alds/meta.v1/Story/Delete" of="/alds/meta.v1/Story" version="1.2.3.4" name="Delete">` +
			`<Validator href="/alds/meta.v1/Story/IsDeletable" tokenref="Story.IsDeletable"/></Operation>`,
	} {
		d, err := docs.Part(base, "Story", name, document.XML)
		if got := string(d.Body); err != nil || got != value.XMLDeclaration+want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, value.XMLDeclaration+want)
		}
	}
	story, err := docs.Type(base, "Story", document.XML)
	checkEnds(t, story, err, `<AssetType href="/alds/meta.v1/Story" version="1.2.3.4" name="Story" token="Story" displayname="AssetType'Story" abstract="False">`+
		`<Base nameref="PrimaryWorkitem" href="/alds/meta.v1/PrimaryWorkitem"/>`+
		`<DefaultOrderBy href="/alds/meta.v1/Story/Order" tokenref="Story.Order"/>`+
		`<DefaultDisplayBy href="/alds/meta.v1/Story/Name" tokenref="Story.Name"/>`+
		`<ShortName href="/alds/meta.v1/Story/Number" tokenref="Story.Number"/>`+
		`<Name href="/alds/meta.v1/Story/Name" tokenref="Story.Name"/>`+
		`<Description href="/alds/meta.v1/Story/Description" tokenref="Story.Description"/>`+
		`<AttributeDefinition name="ID" token="Story.ID" `, `</Operation></AssetType>`)
	checkEnds(t, docs.Model(base, document.XML), nil, `<Meta href="/alds/meta.v1/" version="1.2.3.4">`+
		`<AssetType name="BaseAsset" token="BaseAsset" displayname="AssetType'BaseAsset" abstract="True"><`, `></AssetType></Meta>`)
}

func checkEnds(t *testing.T, d Document, err error, first, last string) {
	t.Helper()
	if err != nil || !bytes.HasPrefix(d.Body, []byte(value.XMLDeclaration+first)) || !bytes.HasSuffix(d.Body, []byte(last)) {
		t.Errorf("%v\n%.1200s\nwant\n%s", err, d.Body, value.XMLDeclaration+first)
	}
}

// TestEmptyElements checks that an element without references has no content.
func TestEmptyElements(t *testing.T) {
	e := newXMLEncoder(`/"x"&`, "1.2.3.4")
	for _, c := range []struct{ got, want string }{
		{
			string(e.operation(nil, &Operation{Of: "Story", Name: "Do", Args: []Argument{{Name: "Epic"}}})),
			`<Operation href="/&quot;x&quot;&amp;/Story/Do" of="/&quot;x&quot;&amp;/Story" version="1.2.3.4" name="Do"/>`,
		},
		{
			string(e.attribute(nil, &Attribute{Of: "Story", Name: "Likes", Kind: meta.Text, Multi: true, Custom: true, Takes: []string{"Epic"}})),
			`<AttributeDefinition href="/&quot;x&quot;&amp;/Story/Likes" of="/&quot;x&quot;&amp;/Story" version="1.2.3.4" name="Likes" token="Story.Likes"` +
				` displayname="" attributetype="Text" isreadonly="False" isrequired="False" ismultivalue="True" iscanned="False" iscustom="True"/>`,
		},
		{
			string(e.one(nil, &Type{Name: "Story", Abstract: true})),
			`<AssetType href="/&quot;x&quot;&amp;/Story" version="1.2.3.4" name="Story" token="Story" displayname="" abstract="True"/>`,
		},
	} {
		if c.got != value.XMLDeclaration+c.want {
			t.Errorf("%s\nwant\n%s", c.got, value.XMLDeclaration+c.want)
		}
	}
}

// TestXMLSaysWhatJSONSays compares the two formats for every type, attribute and operation. It
// ignores what only JSON has.
func TestXMLSaysWhatJSONSays(t *testing.T) {
	const base = "/alds/meta.v1"
	docs := New(grown(t, 8), "1.2.3.4")
	one := func(f document.Format) Document {
		d, err := docs.Type(base, "Story", f)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	part := func(f document.Format) Document {
		d, err := docs.Part(base, "Story", "Owners[Nickname='a\t&b'].OwnedWorkitems", f)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, of := range map[string]func(document.Format) Document{
		"all": func(f document.Format) Document { return docs.Model(base, f) }, "one": one, "part": part,
	} {
		inXML, inJSON := map[string]string{}, map[string]string{}
		readXML(t, inXML, of(document.XML).Body)
		var tree map[string]any
		if err := json.Unmarshal(of(document.JSON).Body, &tree); err != nil {
			t.Fatal(err)
		}
		readJSON(inJSON, "", tree)
		t.Logf("%s: %d facts", name, len(inJSON))
		keys := maps.Clone(inXML)
		maps.Copy(keys, inJSON)
		differences := 0
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			x, atX := inXML[key]
			j, atJ := inJSON[key]
			if x == j && atX && atJ {
				continue
			}
			if differences++; differences <= 10 {
				t.Errorf("%s: %s: %q %v as XML, %q %v as JSON", name, key, x, atX, j, atJ)
			}
		}
		if differences > 10 {
			t.Errorf("%s: %d differences", name, differences)
		}
	}
}

// readXML adds every attribute of a document under the path of its element, such as
// "/AssetType Story/AttributeDefinition Scope/Base@tokenref". The path of the root is empty.
func readXML(t *testing.T, said map[string]string, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	path := []string{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			name := ""
			if len(path) > 0 {
				name = "/" + e.Name.Local
				if e.Attr[0].Name.Local == "name" {
					name += " " + e.Attr[0].Value
				}
			}
			path = append(path, name)
			for _, a := range e.Attr {
				key := strings.Join(path, "") + "@" + a.Name.Local
				if _, twice := said[key]; twice {
					t.Errorf("%s is there twice", key)
				}
				said[key] = a.Value
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData, xml.Comment:
			t.Fatalf("text in %s: %q", path, e)
		}
	}
}

// readJSON adds the members of an object under their XML names.
func readJSON(said map[string]string, path string, object map[string]any) {
	for name, v := range object {
		at := path + "@" + strings.ToLower(name)
		switch v := v.(type) {
		case string:
			said[at] = v
		case bool:
			said[at] = map[bool]string{true: "True", false: "False"}[v]
		case map[string]any:
			readMember(said, path, name, v)
		}
	}
	delete(said, path+"@_type")
	if object["_type"] == "AssetType" {
		said[path+"@name"] = said[path+"@token"] // in JSON, Name is the reference, not the name of the type
		delete(said, path+"@iscustom")
	}
}

func readMember(said map[string]string, path, name string, object map[string]any) {
	switch name {
	case "Arguments":
	case "AssetTypes", "Attributes", "Operations":
		for key, v := range object {
			one := v.(map[string]any)
			_, last, within := strings.Cut(key, ".") // Story, Story.Scope
			if !within {
				last = key
			}
			readJSON(said, path+"/"+one["_type"].(string)+" "+last, one)
		}
	default:
		readJSON(said, path+"/"+name, object)
	}
}
