package describe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// Document is a description as bytes that callers must not change.
type Document struct {
	JSON []byte
	Gzip []byte // the same, compressed; nil where that saves nothing worth while
	Tag  string // changes with the bytes; without quotes
}

// Documents are the descriptions of one model. What is asked for is described
// once: the whole model takes 3 MB, and so do all of its types together. It is
// safe for concurrent use; New and With return one.
type Documents struct {
	model   *meta.Model
	version string
	parts   *parts // shared by the descriptions of all models

	mu    sync.Mutex
	ready map[address]func() Document // each makes its document once
}

// address is what a document is about: a type, or all for "".
type address struct{ base, typ string }

// New returns the descriptions of a model. version is that of the program, four
// integers.
func New(m *meta.Model, version string) *Documents {
	return &Documents{model: m, version: version, parts: &parts{last: map[string]whole{}}, ready: map[address]func() Document{}}
}

// With returns the descriptions of another model. What the two have in common is
// compressed once.
func (d *Documents) With(m *meta.Model) *Documents {
	return &Documents{model: m, version: d.version, parts: d.parts, ready: map[address]func() Document{}}
}

// Model describes all types; base is what hrefs start with.
func (d *Documents) Model(base string) Document {
	return d.prepare(address{base, ""}, func(e encoder) Document {
		p := newPacker(d.parts.of(base))
		e.all(p, d.model)
		doc, kept := p.document()
		d.parts.keep(base, kept)
		return doc
	})
}

// Type describes one type. Errors: fault.NotFound.
func (d *Documents) Type(base, name string) (Document, error) {
	t, err := d.typeNamed(name)
	if err != nil {
		return Document{}, err
	}
	return d.prepare(address{base, name}, func(e encoder) Document {
		of := Of(d.model, t)
		doc := document(bytes.Clone(e.one(nil, &of)))
		doc.Gzip = compressed(doc.JSON)
		return doc
	}), nil
}

// Part describes an operation or attribute of a type, or what a path token leads
// to. Errors: fault.NotFound for an unknown name; fault.Invalid for text that is no
// token.
func (d *Documents) Part(base, typ, name string) (Document, error) {
	t, err := d.typeNamed(typ)
	if err != nil {
		return Document{}, err
	}
	e := newEncoder(base, d.version)
	if op, ok := t.Op(name); ok {
		of := operation(d.model, op)
		return document(e.operation(nil, &of)), nil
	}
	a, err := Token(d.model, t, name)
	if err != nil {
		return Document{}, err
	}
	return document(e.attribute(nil, &a)), nil
}

func (d *Documents) typeNamed(name string) (*meta.Type, error) {
	t, ok := d.model.Type(name)
	if !ok {
		return nil, fault.NotFoundf("Unknown AssetType: %s", name)
	}
	return t, nil
}

// prepare returns a document, which is made by the first call.
func (d *Documents) prepare(at address, encode func(encoder) Document) Document {
	d.mu.Lock()
	doc := d.ready[at]
	if doc == nil {
		doc = sync.OnceValue(func() Document { return encode(newEncoder(at.base, d.version)) })
		d.ready[at] = doc
	}
	d.mu.Unlock()
	return doc()
}

// NewDocument returns bytes with their tag, not compressed.
func NewDocument(b []byte) Document { return document(b) }

func document(json []byte) Document {
	sum := sha256.Sum256(json)
	return Document{JSON: json, Tag: hex.EncodeToString(sum[:12])}
}

// modelSize is about the size of the whole model as JSON.
const modelSize = 3 << 20
