package describe

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// xmlEncoder appends descriptions as XML, with the elements that existing clients read, and without
// text between them. XML contains less than JSON: existing clients read neither the arguments of
// operations nor the types of a relation's values. Spec: interface 4.2.
type xmlEncoder struct {
	open    string // the beginning of every href, escaped: /alds/meta.v1/
	version string // four integers
}

func newXMLEncoder(base, version string) xmlEncoder {
	return xmlEncoder{open: string(value.AppendXMLAttr(nil, base+"/")), version: version}
}

// all packs the description of all types. Shape: <Meta href version><AssetType>…. The types inside
// have no href and no version.
func (e xmlEncoder) all(p *packer, m *meta.Model) {
	p.text = append(append(p.text, value.XMLDeclaration+`<Meta href="`...), e.open...)
	p.text = append(attr(append(p.text, '"'), "version", e.version), '>')
	p.types(m, func(w []byte, _ int, t *Type) []byte {
		return e.members(append(w, `<AssetType`...), t)
	})
	p.text = append(p.text, `</Meta>`...)
}

func (e xmlEncoder) one(w []byte, t *Type) []byte {
	return e.members(e.root(w, "AssetType", t.Name, ""), t)
}

// attribute appends the description of an attribute or path token.
func (e xmlEncoder) attribute(w []byte, a *Attribute) []byte {
	return e.definition(e.root(w, "AttributeDefinition", a.Token(), a.Of), a)
}

// operation appends the description of an operation.
func (e xmlEncoder) operation(w []byte, o *Operation) []byte {
	return e.operationMembers(e.root(w, "Operation", o.Token(), o.Of), o)
}

// root appends the beginning of an answer.
func (e xmlEncoder) root(w []byte, element, token, of string) []byte {
	w = append(append(w, value.XMLDeclaration+`<`...), element...)
	w = e.href(w, "href", token)
	if of != "" {
		w = e.href(w, "of", of)
	}
	return attr(w, "version", e.version)
}

// members appends the attributes and content of a type after the name of its element.
func (e xmlEncoder) members(w []byte, t *Type) []byte {
	w = attr(w, "name", t.Name)
	w = attr(w, "token", t.Name)
	w = attr(w, "displayname", t.DisplayName)
	w = truth(w, "abstract", t.Abstract)
	w = append(w, '>')
	at := len(w)
	w = appendTypeRefs(e, w, t)
	for i := range t.Attributes {
		w = e.definition(append(w, `<AttributeDefinition`...), &t.Attributes[i])
	}
	for i := range t.Operations {
		w = e.operationMembers(append(w, `<Operation`...), &t.Operations[i])
	}
	return end(w, at, "AssetType")
}

func (e xmlEncoder) definition(w []byte, a *Attribute) []byte {
	w = attr(w, "name", a.Name)
	w = attr(w, "token", a.Token())
	w = attr(w, "displayname", a.DisplayName)
	w = attr(w, "attributetype", string(a.Kind))
	w = truth(w, "isreadonly", a.ReadOnly)
	w = truth(w, "isrequired", a.Required)
	w = truth(w, "ismultivalue", a.Multi)
	w = truth(w, "iscanned", a.Canned)
	w = truth(w, "iscustom", a.Custom)
	w = append(w, '>')
	at := len(w)
	w = appendAttributeRefs(e, w, a)
	return end(w, at, "AttributeDefinition")
}

func (e xmlEncoder) operationMembers(w []byte, o *Operation) []byte {
	w = append(attr(w, "name", o.Name), '>')
	at := len(w)
	w = e.tokenRef(w, "Validator", o.Validator)
	return end(w, at, "Operation")
}

// href appends an attribute with the address of a type or token.
func (e xmlEncoder) href(w []byte, name, token string) []byte {
	typ, part := location(token)
	w = append(append(append(w, ' '), name...), `="`...)
	w = append(append(w, e.open...), typ...)
	if part != "" {
		w = value.AppendXMLAttr(append(w, '/'), part)
	}
	return append(w, '"')
}

// tokenRef appends an element that refers to an attribute, if token is not empty.
func (e xmlEncoder) tokenRef(w []byte, element, token string) []byte {
	if token == "" {
		return w
	}
	w = e.href(append(append(w, '<'), element...), "href", token)
	return append(attr(w, "tokenref", token), `/>`...)
}

// typeRef appends an element that refers to a type, if typ is not empty.
func (e xmlEncoder) typeRef(w []byte, element, typ string) []byte {
	if typ == "" {
		return w
	}
	w = attr(append(append(w, '<'), element...), "nameref", typ)
	return append(e.href(w, "href", typ), `/>`...)
}

// end closes an element whose content begins at the index at of w.
func end(w []byte, at int, element string) []byte {
	if len(w) == at {
		return append(w[:at-1], `/>`...)
	}
	return append(append(append(w, `</`...), element...), '>')
}

func attr(w []byte, name, v string) []byte {
	w = append(append(append(w, ' '), name...), `="`...)
	return append(value.AppendXMLAttr(w, v), '"')
}

// truth appends an attribute with the value True or False.
func truth(w []byte, name string, v bool) []byte {
	if v {
		return attr(w, name, "True")
	}
	return attr(w, name, "False")
}
