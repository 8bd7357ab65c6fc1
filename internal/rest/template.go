package rest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/auth"
	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/oid"
)

// Template returns what a new asset of a type would get in a context, in the
// form in which it can be posted.
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
	b := quote([]byte(`{"_type":"Asset","href":`), base+"/"+t.Name)
	b = append(b, `,"Attributes":{`...)
	data := strings.TrimSuffix(base, "/New") + "/Data"
	for i, g := range given {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(quote(b, g.Attr.Name), ':')
		b = appendGiven(b, data, g)
	}
	return append(b, "}}"...), nil
}

func appendGiven(b []byte, data string, g asset.Given) []byte {
	kind := "Attribute"
	if g.Attr.Kind == meta.Relation {
		kind = "Relation"
	}
	b = quote(append(b, `{"_type":"`+kind+`","name":`...), g.Attr.Name)
	switch {
	case g.Attr.Kind != meta.Relation:
		b = appendScalar(append(b, `,"value":`...), g)
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
	b = quote(append(b, `{"_type":"Asset","href":`...), href(data, o))
	return quote(append(b, `,"idref":`...), o.String())
}

func appendScalar(b []byte, g asset.Given) []byte {
	switch v := g.Value.(type) {
	case string:
		return quote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64)
	case int64:
		if g.Attr.Kind != meta.Date {
			return strconv.AppendInt(b, v, 10)
		}
		form := "2006-01-02T15:04:05.000"
		if g.Attr.DateOnly {
			form = time.DateOnly
		}
		return quote(b, time.UnixMicro(v).UTC().Format(form))
	}
	panic(fmt.Sprintf("rest: %T has no JSON form", g.Value))
}

// quote appends a JSON string.
func quote(b []byte, s string) []byte {
	out, err := jsontext.AppendQuote(b, s)
	if err != nil {
		out, _ = jsontext.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return out
}
