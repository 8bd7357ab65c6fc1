package describe

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/meta"
)

// Type describes one asset type. References to attributes are tokens, such as
// "Story.Order"; empty where there is none.
type Type struct {
	Name        string
	DisplayName string // a tag of localization
	Abstract    bool
	Custom      bool
	Base        string // the type above

	OrderBy, DisplayBy, ShortName, NameAttr, Description string

	Attributes []Attribute // in the order of the model
	Operations []Operation
}

// Attribute describes what an attribute token gives: a definition, or what a
// path token leads to.
type Attribute struct {
	Of          string // the type where the token begins
	Name        string // the token without it
	DisplayName string // a tag of localization
	Kind        meta.Kind
	ReadOnly    bool
	Required    bool
	Multi       bool
	Canned      bool
	Custom      bool

	Base       string   // the definition on the type that declares it; empty where that is this one
	Reciprocal string   // the other side, on the type that declares it
	OrderBy    string   // what assets are sorted by to sort by this
	DisplayBy  string   // what is shown of the related asset
	Related    string   // the type that a relation leads to
	Takes      []string // the types its values may have, where those are not all of Related and no others
	Leaf       string   // path tokens: the definition at the end
}

// Token returns the whole token, such as "Story.Owners.Nickname".
func (a *Attribute) Token() string { return a.Of + "." + a.Name }

// Operation describes one operation.
type Operation struct {
	Of        string
	Name      string
	Validator string // the token of the attribute that says whether it may run; may be empty
	Args      []Argument
}

// Argument describes one argument of an operation: an asset of a type, a Boolean
// that may be left out, or a number.
type Argument struct {
	Name    string
	Related string // empty: a Boolean or a number
}

// Token returns the token of the operation, such as "Story.Delete".
func (o *Operation) Token() string { return o.Of + "." + o.Name }

// Of describes a type with all of its attributes and operations.
func Of(m *meta.Model, t *meta.Type) Type {
	d := Type{
		Name: t.Name, DisplayName: "AssetType'" + t.Name, Abstract: t.Abstract, Custom: t.Custom,
		OrderBy: tokenOf(t, t.OrderBy), DisplayBy: tokenOf(t, t.DisplayBy), ShortName: tokenOf(t, t.ShortName),
		NameAttr: tokenOf(t, t.NameAttr), Description: tokenOf(t, t.Description),
		Attributes: make([]Attribute, 0, len(t.Attrs)), Operations: make([]Operation, 0, len(t.Ops)),
	}
	if t.Parent != nil {
		d.Base = t.Parent.Name
	}
	for _, a := range t.Attrs {
		d.Attributes = append(d.Attributes, definition(a))
	}
	for _, op := range t.Ops {
		d.Operations = append(d.Operations, operation(m, op))
	}
	return d
}

func tokenOf(t *meta.Type, attr string) string {
	if attr == "" {
		return ""
	}
	return t.Name + "." + attr
}

// definition describes an attribute of a type.
func definition(a *meta.Attr) Attribute {
	d := Attribute{
		Of: a.On.Name, Name: a.Name, DisplayName: displayName(a), Kind: a.Kind,
		ReadOnly: a.ReadOnly, Required: a.Required, Multi: a.Multi, Canned: a.Canned, Custom: a.Custom,
	}
	if a.Declared != a.On {
		d.Base = tokenOf(a.Declared, a.Name)
	}
	d.sortsBy(a)
	if a.Kind == meta.Relation {
		d.Related, d.Takes = a.Related.Name, takes(a)
		if a.Back != nil {
			d.Reciprocal = tokenOf(a.Back.Declared, a.Back.Name)
		}
	}
	return d
}

func displayName(a *meta.Attr) string { return "AttributeDefinition'" + a.Name + "'" + a.On.Name }

// unsorted are the kinds by which no query sorts.
var unsorted = []meta.Kind{meta.Password, meta.Blob}

// sortsBy sets what assets are sorted by to sort by an attribute: itself, or what
// the assets of the related type are sorted by.
func (d *Attribute) sortsBy(a *meta.Attr) {
	switch {
	case a.Multi || slices.Contains(unsorted, a.Kind):
	case a.Kind != meta.Relation:
		d.OrderBy = a.Token()
	default:
		at := a.Token()
		if a.Place.Kind == meta.System && (a.Name == "ID" || a.Name == "Now") {
			at = a.On.Name // the asset itself
		}
		d.OrderBy, d.DisplayBy = below(at, a.Related.OrderBy), below(at, a.Related.DisplayBy)
	}
}

func below(token, attr string) string {
	if attr == "" {
		return ""
	}
	return token + "." + attr
}

// takes returns the types that a relation leads to where those are not all of the
// related one and no others: abstract ones for all below them.
func takes(a *meta.Attr) []string {
	if a.Targets == nil {
		return nil
	}
	types := a.Among
	if types == nil {
		types = a.Targets
		if others := slices.DeleteFunc(slices.Clone(types), func(t *meta.Type) bool { return t.IsA(a.Related) }); len(others)+len(a.Related.Concrete) == len(types) {
			types = append([]*meta.Type{a.Related}, others...)
		}
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.Name
	}
	return names
}

// operation describes an operation. An argument with the name of a type is an
// asset of it, one whose name begins with Is a Boolean, and every other a number.
func operation(m *meta.Model, op *meta.Op) Operation {
	d := Operation{Of: op.On.Name, Name: op.Name, Validator: tokenOf(op.On, op.Validator)}
	for _, name := range op.Effect.Args {
		arg := Argument{Name: name}
		if _, isType := m.Type(name); isType {
			arg.Related = name
		}
		d.Args = append(d.Args, arg)
	}
	return d
}

// kind is the attribute type of the argument.
func (a Argument) kind() meta.Kind {
	if a.Related != "" {
		return meta.Relation
	}
	if strings.HasPrefix(a.Name, "Is") {
		return meta.Boolean
	}
	return meta.Numeric
}

// required reports whether the argument must be given.
func (a Argument) required() bool { return a.kind() != meta.Boolean }
