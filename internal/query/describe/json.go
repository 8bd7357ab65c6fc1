package describe

import (
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// jsonEncoder appends descriptions as JSON. Spec: interface 2.4.
type jsonEncoder struct {
	open    string // the beginning of every href, in JSON: "/alds/meta.v1/
	version string // four integers
}

func newJSONEncoder(base, version string) jsonEncoder {
	quoted := value.AppendString(nil, base+"/")
	return jsonEncoder{open: string(quoted[:len(quoted)-1]), version: version}
}

// all packs the description of all types. Shape: {"HREF": …, "Version": …, "AssetTypes": {"Story":
// {…}, …}}. The types inside have no HREF and no Version.
func (e jsonEncoder) all(p *packer, m *meta.Model) {
	p.text = append(append(p.text, `{"HREF":`...), e.open...)
	p.text = e.versioned(append(p.text, '"'))
	p.text = append(p.text, `,"AssetTypes":{`...)
	p.types(m, func(w []byte, i int, t *Type) []byte {
		w = append(key(w, i, t.Name), `{"_type":"AssetType"`...)
		return append(e.members(w, t), '}')
	})
	p.text = append(p.text, `}}`...)
}

func (e jsonEncoder) one(w []byte, t *Type) []byte {
	w = e.root(w, "AssetType", t.Name, "")
	return append(e.members(w, t), '}')
}

// attribute appends the description of an attribute or path token.
func (e jsonEncoder) attribute(w []byte, a *Attribute) []byte {
	w = e.root(w, "AttributeDefinition", a.Token(), a.Of)
	return append(e.definition(w, a), '}')
}

// operation appends the description of an operation.
func (e jsonEncoder) operation(w []byte, o *Operation) []byte {
	w = e.root(w, "Operation", o.Token(), o.Of)
	return append(e.operationMembers(w, o), '}')
}

// root appends the beginning of an answer.
func (e jsonEncoder) root(w []byte, kind, token, of string) []byte {
	w = append(w, `{"_type":"`...)
	w = append(append(w, kind...), `","HREF":`...)
	w = e.href(w, token)
	if of != "" {
		w = append(w, `,"Of":`...)
		w = e.href(w, of)
	}
	return e.versioned(w)
}

func (e jsonEncoder) versioned(w []byte) []byte {
	return value.AppendString(append(w, `,"Version":`...), e.version)
}

// members appends the members of a type. The member Name appears twice: first as the name of the
// type, then as the attribute with the name of its assets. Most readers of JSON keep only the
// second member.
func (e jsonEncoder) members(w []byte, t *Type) []byte {
	w = text(w, "Name", t.Name)
	w = text(w, "Token", t.Name)
	w = text(w, "DisplayName", t.DisplayName)
	w = flag(w, "Abstract", t.Abstract)
	w = flag(w, "IsCustom", t.Custom)
	w = appendTypeRefs(e, w, t)
	w = append(w, `,"Attributes":{`...)
	for i := range t.Attributes {
		a := &t.Attributes[i]
		w = key(w, i, a.Token())
		w = append(w, `{"_type":"AttributeDefinition"`...)
		w = append(e.definition(w, a), '}')
	}
	w = append(w, `},"Operations":{`...)
	for i := range t.Operations {
		o := &t.Operations[i]
		w = key(w, i, o.Token())
		w = append(w, `{"_type":"Operation"`...)
		w = append(e.operationMembers(w, o), '}')
	}
	return append(w, '}')
}

func (e jsonEncoder) definition(w []byte, a *Attribute) []byte {
	w = text(w, "Name", a.Name)
	w = text(w, "Token", a.Token())
	w = text(w, "DisplayName", a.DisplayName)
	w = text(w, "AttributeType", string(a.Kind))
	w = flag(w, "IsReadOnly", a.ReadOnly)
	w = flag(w, "IsRequired", a.Required)
	w = flag(w, "IsMultivalue", a.Multi)
	w = flag(w, "IsCanned", a.Canned)
	w = flag(w, "IsCustom", a.Custom)
	w = appendAttributeRefs(e, w, a)
	return e.validTypes(w, a.Takes)
}

func (e jsonEncoder) validTypes(w []byte, types []string) []byte {
	if types == nil {
		return w
	}
	w = append(w, `,"ValidTypes":[`...)
	for i, name := range types {
		if i > 0 {
			w = append(w, ',')
		}
		w = append(w, '{')
		w = append(e.refTo(w, name), '}')
	}
	return append(w, ']')
}

func (e jsonEncoder) operationMembers(w []byte, o *Operation) []byte {
	w = text(w, "Name", o.Name)
	w = e.tokenRef(w, "Validator", o.Validator)
	if o.Args == nil {
		return w
	}
	w = append(w, `,"Arguments":{`...)
	for i, arg := range o.Args {
		w = key(w, i, arg.Name)
		w = append(w, `{"_type":"Argument"`...)
		w = text(w, "Name", arg.Name)
		w = text(w, "AttributeType", string(arg.kind()))
		w = flag(w, "IsRequired", arg.required())
		w = append(e.typeRef(w, "RelatedAsset", arg.Related), '}')
	}
	return append(w, '}')
}

// href appends the address of a type or token.
func (e jsonEncoder) href(w []byte, token string) []byte {
	typ, part := location(token)
	w = append(append(w, e.open...), typ...)
	if part != "" {
		w = append(append(w, '/'), part...)
	}
	return append(w, '"')
}

// tokenRef appends a member that refers to an attribute, if token is not empty.
func (e jsonEncoder) tokenRef(w []byte, name, token string) []byte {
	if token == "" {
		return w
	}
	w = append(append(append(w, `,"`...), name...), `":{"href":`...)
	w = e.href(w, token)
	return append(text(w, "tokenref", token), '}')
}

// typeRef appends a member that refers to a type, if typ is not empty.
func (e jsonEncoder) typeRef(w []byte, name, typ string) []byte {
	if typ == "" {
		return w
	}
	w = append(append(append(w, `,"`...), name...), `":{`...)
	return append(e.refTo(w, typ), '}')
}

func (e jsonEncoder) refTo(w []byte, typ string) []byte {
	w = value.AppendString(append(w, `"nameref":`...), typ)
	return e.href(append(w, `,"href":`...), typ)
}

// key appends the name of the i-th member of an object.
func key(w []byte, i int, name string) []byte {
	if i > 0 {
		w = append(w, ',')
	}
	return append(value.AppendString(w, name), ':')
}

// text appends a member with a text, after other members.
func text(w []byte, name, v string) []byte {
	w = append(append(append(w, `,"`...), name...), `":`...)
	return value.AppendString(w, v)
}

func flag(w []byte, name string, v bool) []byte {
	w = append(append(append(w, `,"`...), name...), `":`...)
	return strconv.AppendBool(w, v)
}
