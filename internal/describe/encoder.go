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

// referrer appends what leads to another description, under a name; nothing where
// there is none.
type referrer interface {
	typeRef(w []byte, name, typ string) []byte
	tokenRef(w []byte, name, token string) []byte // to an attribute
}

// appendTypeRefs appends what the description of a type leads to.
func appendTypeRefs[E referrer](e E, w []byte, t *Type) []byte {
	w = e.typeRef(w, "Base", t.Base)
	w = e.tokenRef(w, "DefaultOrderBy", t.OrderBy)
	w = e.tokenRef(w, "DefaultDisplayBy", t.DisplayBy)
	w = e.tokenRef(w, "ShortName", t.ShortName)
	w = e.tokenRef(w, "Name", t.NameAttr)
	return e.tokenRef(w, "Description", t.Description)
}

// appendAttributeRefs appends what the description of an attribute leads to.
func appendAttributeRefs[E referrer](e E, w []byte, a *Attribute) []byte {
	w = e.tokenRef(w, "Base", a.Base)
	w = e.tokenRef(w, "ReciprocalRelation", a.Reciprocal)
	w = e.tokenRef(w, "OrderByAttribute", a.OrderBy)
	w = e.tokenRef(w, "DisplayByAttribute", a.DisplayBy)
	w = e.typeRef(w, "RelatedAsset", a.Related)
	return e.tokenRef(w, "RelatedAttribute", a.Leaf)
}

// location returns where below the base a type, or what a token names, is described:
// the segments of its path. A type has no part.
func location(token string) (typ, part string) {
	typ, rest, _ := strings.Cut(token, ".")
	return typ, url.PathEscape(rest)
}
