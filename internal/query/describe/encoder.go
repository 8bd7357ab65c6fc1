package describe

import (
	"net/url"
	"strings"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
)

// encoder appends descriptions in one form.
type encoder interface {
	all(p *packer, m *meta.Model) // appends all types to the text of p
	one(w []byte, t *Type) []byte
	attribute(w []byte, a *Attribute) []byte
	operation(w []byte, o *Operation) []byte
}

// newEncoder returns the encoder of a form. version is the program's version.
func newEncoder(f form, version string) encoder {
	if f.format == document.XML {
		return newXMLEncoder(f.base, version)
	}
	return newJSONEncoder(f.base, version)
}

// referrer appends a named reference to another description. It appends nothing if the parameter
// typ or token is empty.
type referrer interface {
	typeRef(w []byte, name, typ string) []byte
	tokenRef(w []byte, name, token string) []byte // to an attribute
}

// appendTypeRefs appends the references in the description of a type.
func appendTypeRefs[E referrer](e E, w []byte, t *Type) []byte {
	w = e.typeRef(w, "Base", t.Base)
	w = e.tokenRef(w, "DefaultOrderBy", t.OrderBy)
	w = e.tokenRef(w, "DefaultDisplayBy", t.DisplayBy)
	w = e.tokenRef(w, "ShortName", t.ShortName)
	w = e.tokenRef(w, "Name", t.NameAttr)
	return e.tokenRef(w, "Description", t.Description)
}

// appendAttributeRefs appends the references in the description of an attribute.
func appendAttributeRefs[E referrer](e E, w []byte, a *Attribute) []byte {
	w = e.tokenRef(w, "Base", a.Base)
	w = e.tokenRef(w, "ReciprocalRelation", a.Reciprocal)
	w = e.tokenRef(w, "OrderByAttribute", a.OrderBy)
	w = e.tokenRef(w, "DisplayByAttribute", a.DisplayBy)
	w = e.typeRef(w, "RelatedAsset", a.Related)
	return e.tokenRef(w, "RelatedAttribute", a.Leaf)
}

// location returns the two path segments, below the base, under which a type or token is described.
// part is empty for a type.
func location(token string) (typ, part string) {
	typ, rest, _ := strings.Cut(token, ".")
	return typ, url.PathEscape(rest)
}
