package rest

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
	"github.com/alds-dev/alds/internal/value"
)

// Template returns the defaults of a new asset of a type in a context, in the form
// that Write accepts.
// Shape: {"_type":"Asset","href":"/alds/rest-1.v1/New/Story","Attributes":{"Scope":{…,"act":"set"}}}
// Errors: fault.Invalid.
func (e *Engine) Template(ctx context.Context, who auth.Actor, base, typ, in string) ([]byte, error) {
	t, ok := e.assets.Model().Type(typ)
	if !ok {
		return nil, asset.UnknownType(typ)
	}
	var ref asset.Ref
	if in != "" {
		o, err := oid.Parse(in)
		if err != nil {
			return nil, err
		}
		known, err := e.assets.Lookup(ctx, e.assets.DB(), who, []oid.OID{o.Now()})
		if err != nil {
			return nil, err
		}
		if k, ok := known[o.Now()]; !ok || k.Deleted {
			return nil, oid.Invalid(in)
		}
		ref = asset.Ref{OID: o.Now(), Token: in}
	}
	given, err := e.assets.Template(ctx, who, t, ref)
	if err != nil {
		return nil, err
	}
	b := value.AppendString([]byte(`{"_type":"Asset","href":`), base+"/"+t.Name)
	b = append(b, `,"Attributes":{`...)
	data := strings.TrimSuffix(base, "/New") + "/Data"
	for i, g := range given {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(value.AppendString(b, g.Attr.Name), ':')
		b = appendGiven(b, data, g)
	}
	return append(b, "}}"...), nil
}

func appendGiven(b []byte, data string, g asset.Given) []byte {
	kind := "Attribute"
	if g.Attr.Kind == meta.Relation {
		kind = "Relation"
	}
	b = value.AppendString(append(b, `{"_type":"`+kind+`","name":`...), g.Attr.Name)
	switch {
	case g.Attr.Kind != meta.Relation:
		v, _ := value.Of(g.Value)
		b = value.AppendData(append(b, `,"value":`...), v, g.Attr.Kind, g.Attr)
	case !g.Attr.Multi:
		b = append(appendRef(append(b, `,"value":`...), data, g.OIDs[0]), '}')
	default:
		b = append(b, `,"value":[`...)
		for i, o := range g.OIDs {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendRef(b, data, o), `,"act":"add"}`...)
		}
		return append(b, "]}"...)
	}
	return append(b, `,"act":"set"}`...)
}

// appendRef leaves the object open for an act.
func appendRef(b []byte, data string, o oid.OID) []byte {
	b = value.AppendString(append(b, `{"_type":"Asset","href":`...), href(data, o))
	return value.AppendString(append(b, `,"idref":`...), o.String())
}
