package describe

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/query"
)

// TestWhatIsReferredToIsThere: every attribute and type that a description refers
// to can be asked about itself.
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

// TestTheNameStandsTwice: first as text, then as the attribute.
func TestTheNameStandsTwice(t *testing.T) {
	d, err := New(meta.Default(), "1.2.3.4").Type("/alds/meta.v1", "Story")
	if err != nil {
		t.Fatal(err)
	}
	text := bytes.Index(d.JSON, []byte(`,"Name":"Story"`))
	ref := bytes.Index(d.JSON, []byte(`,"Name":{"href":"/alds/meta.v1/Story/Name"`))
	if text < 0 || ref < text {
		t.Errorf("at %d and %d: %.300s", text, ref, d.JSON)
	}
}

// TestDocuments: each is JSON, once compressed and once not, under one tag that
// tells model, version and address apart; unknown types are not found.
func TestDocuments(t *testing.T) {
	m := meta.Default()
	a, b := New(m, "1.2.3.4"), New(meta.Default(), "1.2.3.4")
	all := a.Model("/alds/meta.v1")
	z, err := gzip.NewReader(bytes.NewReader(all.Gzip))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil || !bytes.Equal(unpacked, all.JSON) || !json.Valid(all.JSON) {
		t.Errorf("%d bytes compressed, %d not, %v", len(unpacked), len(all.JSON), err)
	}
	if same := b.Model("/alds/meta.v1"); same.Tag != all.Tag {
		t.Error("the same model has another tag")
	}
	extended, err := m.Extend(meta.Custom{Attributes: []meta.CustomAttribute{{ID: 1, Type: "Story", Name: "Custom_Weight", Kind: meta.Numeric}}})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string]bool{all.Tag: true}
	for _, other := range []Document{
		New(m, "1.2.3.5").Model("/alds/meta.v1"), a.Model("/alds/meta.oauth.v1"), New(extended, "1.2.3.4").Model("/alds/meta.v1"),
	} {
		if tags[other.Tag] {
			t.Error("another document has the same tag")
		}
		tags[other.Tag] = true
	}
	for _, name := range []string{"Nobody", "", "story"} {
		if _, err := a.Type("/x", name); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := a.Part("/x", name, "Name"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestUnknownNames: an unknown name in the path of a token is not found; what else is
// wrong with a token is invalid, also an unknown name in a filter.
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
		_, err := docs.Part("/x", "Story", c.token)
		if fault.KindOf(err) != c.kind || c.msg != "" && fault.Public(err) != c.msg {
			t.Errorf("%s: %v: %v", c.token, fault.KindOf(err), err)
		}
	}
}

// TestADocumentThatCannotBeMade: nobody gets an empty one in its place.
func TestADocumentThatCannotBeMade(t *testing.T) {
	docs := New(meta.Default(), "1.2.3.4")
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an empty document")
				}
			}()
			docs.prepare(address{"/x", "Story"}, func(encoder) Document { panic("the encoder broke") })
		}()
	}
}

// TestDocumentsAreMadeOnce: all who ask get the bytes that the first had made.
func TestDocumentsAreMadeOnce(t *testing.T) {
	docs := New(meta.Default(), "1.2.3.4")
	var first [8]*byte
	var wait sync.WaitGroup
	for i := range first {
		wait.Go(func() { first[i] = &docs.Model("/alds/meta.v1").JSON[0] })
	}
	wait.Wait()
	for i := range first {
		if first[i] != first[0] {
			t.Error("it was made twice")
		}
	}
}
