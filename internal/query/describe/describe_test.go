package describe

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query"
)

// TestWhatIsReferredToIsThere checks that every attribute and type that a description refers
// to has a description itself.
func TestWhatIsReferredToIsThere(t *testing.T) {
	m := meta.Default()
	check := func(from, token string) {
		if token == "" {
			return
		}
		name, rest, _ := strings.Cut(token, ".")
		typ, ok := m.Type(name)
		if !ok {
			t.Errorf("%s refers to %s", from, token)
			return
		}
		if _, err := Token(m, typ, rest); err != nil {
			t.Errorf("%s refers to %s: %v", from, token, err)
		}
	}
	for _, typ := range m.Types {
		d := Of(m, typ)
		for _, token := range []string{d.OrderBy, d.DisplayBy, d.ShortName, d.NameAttr, d.Description} {
			check(d.Name, token)
		}
		for i := range d.Attributes {
			a := &d.Attributes[i]
			for _, token := range []string{a.Token(), a.Base, a.Reciprocal, a.OrderBy, a.DisplayBy} {
				check(a.Token(), token)
			}
			sorted := query.Request{From: query.Text{Text: typ.Name}, Sort: []query.Text{{Text: a.Name}}}
			if _, err := query.Bind(m, sorted); err != nil && a.OrderBy != "" {
				t.Errorf("%s cannot be sorted by: %v", a.Token(), err)
			}
			for _, name := range a.Takes {
				if _, ok := m.Type(name); !ok {
					t.Errorf("%s takes %s", a.Token(), name)
				}
			}
		}
		for i := range d.Operations {
			check(d.Operations[i].Token(), d.Operations[i].Validator)
		}
	}
}

// TestTheNameStandsTwice checks that a type in JSON has the member Name twice: first its name, then
// the attribute Name.
func TestTheNameStandsTwice(t *testing.T) {
	d, err := New(meta.Default(), "1.2.3.4").Type("/alds/meta.v1", "Story", document.JSON)
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Index(d.Body, []byte(`,"Name":"Story"`))
	ref := bytes.Index(d.Body, []byte(`,"Name":{"href":"/alds/meta.v1/Story/Name"`))
	if text < 0 || ref < text {
		t.Errorf("at %d and %d: %.300s", text, ref, d.Body)
	}
}

// TestDocuments checks that each document exists compressed and uncompressed, and that its
// Tag depends on model, version, address and format. Unknown types are not found.
func TestDocuments(t *testing.T) {
	const base = "/alds/meta.v1"
	m := meta.Default()
	a, b := New(m, "1.2.3.4"), New(meta.Default(), "1.2.3.4")
	all := a.Model(base, document.JSON)
	if !json.Valid(all.Body) {
		t.Error("it is no JSON")
	}
	for _, f := range formats {
		checkUnpacked(t, a.Model(base, f))
		story, err := a.Type(base, "Story", f)
		if err != nil {
			t.Fatal(err)
		}
		checkUnpacked(t, story)
		if same := b.Model(base, f); same.Tag != a.Model(base, f).Tag {
			t.Error("the same model has another tag")
		}
	}
	extended, err := m.Extend(meta.Custom{Attributes: []meta.CustomAttribute{{ID: 1, Type: "Story", Name: "Custom_Weight", Kind: meta.Numeric}}})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{all.Tag: true}
	for _, other := range []Document{
		New(m, "1.2.3.5").Model(base, document.JSON), a.Model("/alds/meta.oauth.v1", document.JSON), New(extended, "1.2.3.4").Model(base, document.JSON), a.Model(base, document.XML),
	} {
		if tags[other.Tag] {
			t.Error("another document has the same tag")
		}
		tags[other.Tag] = true
	}
	for _, name := range []string{"Nobody", "", "story"} {
		if _, err := a.Type("/x", name, document.XML); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := a.Part("/x", name, "Name", document.XML); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestUnknownNames checks that an unknown name in a path is NotFound. Any other error in a token is
// Invalid, also an unknown name in a filter.
func TestUnknownNames(t *testing.T) {
	docs := New(meta.Default(), "1.2.3.4")
	for _, c := range []struct {
		token, msg string
		kind       fault.Kind
	}{
		{"Nothing", "Unknown AttributeDefinition: Story.Nothing", fault.NotFound},
		{"Owners.Nothing", "Unknown AttributeDefinition: Member.Nothing", fault.NotFound},
		{"Children:Nothing", "Unknown AssetType: Nothing", fault.NotFound},
		{"Owners[Nothing='1'].Name", "", fault.Invalid},
		{"Owners[", "", fault.Invalid},
		{"Name.", "", fault.Invalid},
	} {
		_, err := docs.Part("/x", "Story", c.token, document.JSON)
		if fault.KindOf(err) != c.kind || c.msg != "" && fault.Public(err) != c.msg {
			t.Errorf("%s: %v: %v", c.token, fault.KindOf(err), err)
		}
	}
}

// TestADocumentThatCannotBeMade checks that a document whose encoding panics is never replaced by
// an empty document.
func TestADocumentThatCannotBeMade(t *testing.T) {
	docs := New(meta.Default(), "1.2.3.4")
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an empty document")
				}
			}()
			docs.prepare(address{form{"/x", document.JSON}, "Story"}, func(encoder) Document { panic("the encoder broke") })
		}()
	}
}

// TestDocumentsAreMadeOnce checks that all callers get the bytes that were made for the first
// caller.
func TestDocumentsAreMadeOnce(t *testing.T) {
	docs := New(meta.Default(), "1.2.3.4")
	var first [8]*byte
	var wait sync.WaitGroup
	for i := range first {
		wait.Go(func() { first[i] = &docs.Model("/alds/meta.v1", document.JSON).Body[0] })
	}
	wait.Wait()
	for i := range first {
		if first[i] != first[0] {
			t.Error("it was made twice")
		}
	}
}
