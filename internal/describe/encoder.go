package describe

import (
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/meta"
)

// encoder appends descriptions in one form.
type encoder interface {
	all(p *packer, m *meta.Model) // all types, to the text of p
	one(w []byte, t *Type) []byte
	attribute(w []byte, a *Attribute) []byte
	operation(w []byte, o *Operation) []byte
}

// newEncoder returns the encoder of a form; version is that of the program.
func newEncoder(f form, version string) encoder {
	if f.format == doc.XML {
		return newXMLEncoder(f.base, version)
	}
	return newJSONEncoder(f.base, version)
}

// location returns where below the base a type, or what a token names, is described:
// the segments of its path. A type has no part.
func location(token string) (typ, part string) {
	typ, rest, _ := strings.Cut(token, ".")
	return typ, url.PathEscape(rest)
}
