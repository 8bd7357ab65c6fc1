package describe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
)

// Document is a description as bytes that callers must not change.
type Document struct {
	Body []byte
	Gzip []byte // Body, compressed by gzip; nil: there is no compressed form
	Tag  string // identifies the bytes for clients (an ETag without quotes)
}

// Documents has the descriptions of one model. Each description is encoded once, on first use. In
// each format, the description of the whole model takes 3 MB, and the separate descriptions of all
// types together take another 3 MB. New and With return a Documents. It is safe for concurrent use.
type Documents struct {
	model   *meta.Model
	version string
	parts   *parts // shared by the descriptions of all models

	mu    sync.Mutex
	ready map[address]func() Document // each function makes its document once
}

// form is the format of a description and the base of its hrefs.
type form struct {
	base   string
	format document.Format
}

// address is the subject of a document: a type, or all types if typ is empty.
type address struct {
	form
	typ string
}

// New returns the descriptions of a model. version is the program's version, four integers.
func New(m *meta.Model, version string) *Documents {
	return &Documents{model: m, version: version, parts: &parts{last: map[form]whole{}}, ready: map[address]func() Document{}}
}

// With returns the descriptions of another model. Parts that are equal in both models are
// compressed only once.
func (d *Documents) With(m *meta.Model) *Documents {
	return &Documents{model: m, version: d.version, parts: d.parts, ready: map[address]func() Document{}}
}

// Model describes all types in a format, JSON or XML. base is the beginning of all hrefs.
func (d *Documents) Model(base string, f document.Format) Document {
	in := form{base, f}
	return d.prepare(address{in, ""}, func(e encoder) Document {
		p := newPacker(d.parts.of(in))
		e.all(p, d.model)
		all, kept := p.document()
		d.parts.keep(in, kept)
		return all
	})
}

// Type describes one type. Errors: fault.NotFound.
func (d *Documents) Type(base, name string, f document.Format) (Document, error) {
	t, err := d.typeNamed(name)
	if err != nil {
		return Document{}, err
	}
	return d.prepare(address{form{base, f}, name}, func(e encoder) Document {
		of := Of(d.model, t)
		one := NewDocument(bytes.Clone(e.one(nil, &of)))
		one.Gzip = compressed(one.Body)
		return one
	}), nil
}

// Part describes an operation or attribute of a type, or the target of a path token. Errors:
// fault.NotFound for an unknown name; fault.Invalid for text that is not a token.
func (d *Documents) Part(base, typ, name string, f document.Format) (Document, error) {
	t, err := d.typeNamed(typ)
	if err != nil {
		return Document{}, err
	}
	e := newEncoder(form{base, f}, d.version)
	if op, ok := t.Op(name); ok {
		of := operation(d.model, op)
		return NewDocument(e.operation(nil, &of)), nil
	}
	a, err := Token(d.model, t, name)
	if err != nil {
		return Document{}, err
	}
	return NewDocument(e.attribute(nil, &a)), nil
}

func (d *Documents) typeNamed(name string) (*meta.Type, error) {
	t, ok := d.model.Type(name)
	if !ok {
		return nil, fault.NotFoundf("Unknown AssetType: %s", name)
	}
	return t, nil
}

// prepare returns a document. The first call for an address makes the document.
func (d *Documents) prepare(at address, encode func(encoder) Document) Document {
	d.mu.Lock()
	made := d.ready[at]
	if made == nil {
		made = sync.OnceValue(func() Document { return encode(newEncoder(at.form, d.version)) })
		d.ready[at] = made
	}
	d.mu.Unlock()
	return made()
}

// NewDocument returns a document with uncompressed bytes and their tag.
func NewDocument(b []byte) Document { return Document{Body: b, Tag: tagOf(b)} }

func tagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:12])
}

// modelSize is the approximate size of the whole model, in bytes, in either format.
const modelSize = 3 << 20
