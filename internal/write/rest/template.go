package rest

import (
	"context"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/model/value"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/write/asset"
)

// Template returns the default values of a new asset of the type typ, in the form that Write
// accepts. The parameter in is the Oid token of the asset from which the new asset gets defaults,
// or empty. form.Base is the path of templates, which ends in /New.
// Shape:
// {"_type":"Asset","href":"/alds/rest-1.v1/New/Story","Attributes":{"Scope":{…,"act":"set"}}}
// Errors: fault.Invalid.
func (e *Engine) Template(ctx context.Context, who auth.Actor, form encode.Form, typ, in string) ([]byte, error) {
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
	list := make([]encode.Given, len(given))
	for i, g := range given {
		list[i] = encode.Given{Attr: g.Attr, OIDs: g.OIDs}
		list[i].Value, _ = value.Of(g.Value) // value.Of supports all types of values in a template
	}
	base := form.Base
	form.Base = strings.TrimSuffix(base, "/New") + "/Data"
	answer := encode.NewAssets(form, e.assets.Model(), nil)
	return answer.Template(answer.Begin(nil), base, t.Name, list), nil
}
