package describe

import (
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// Type describes one asset type. References to attributes are tokens, such as "Story.Order",
// or empty.
type Type struct {
	Name        string
	DisplayName string // a localization tag
	Abstract    bool
	Custom      bool
	Base        string // the parent type

	OrderBy, DisplayBy, ShortName, NameAttr, Description string

	Attributes []Attribute // in the order of the model
	Operations []Operation
}

// Attribute describes the target of an attribute token: a definition, or the end of a path.
type Attribute struct {
	Of          string // the type at the beginning of the token
	Name        string // the token without Of
	DisplayName string // a localization tag
	Kind        meta.Kind
	ReadOnly    bool
	Required    bool
	Multi       bool
	Canned      bool
	Custom      bool

	Base       string   // token of the attribute on the type that declares it; empty if that is Of
	Reciprocal string   // token of the reciprocal relation, on the type that declares it
	OrderBy    string   // token of the attribute that queries use to sort by this attribute
	DisplayBy  string   // token of the attribute that is displayed for the related asset
	Related    string   // the type that a relation refers to
	Takes      []string // types of a relation's values, if these are not exactly the types below Related
	Leaf       string   // only for a path: token of the attribute at its end
}

// Token returns the whole token, such as "Story.Owners.Nickname".
func (a *Attribute) Token() string { return a.Of + "." + a.Name }

// Operation describes one operation.
type Operation struct {
	Of        string
	Name      string
	Validator string // token of the Boolean attribute that reports whether the operation may run; may be empty
	Args      []Argument
}

// Argument describes one argument of an operation: an asset of a type, an optional Boolean,
// or a number.
type Argument struct {
	Name    string
	Related string // empty for a Boolean or a number
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

// unsorted has the kinds of attributes by which queries cannot sort.
var unsorted = []meta.Kind{meta.Password, meta.Blob}

// sortsBy sets the sort key of an attribute: the attribute itself, or the sort key of its
// related type.
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

// takes returns the types of a relation's values, if they are not exactly the types below the
// related type. An abstract type in the result means all types below it.
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

// operation describes an operation. An argument with the name of a type is an asset of this type.
// An argument whose name begins with Is is a Boolean. All other arguments are numbers.
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

// kind returns the attribute type of the argument.
func (a Argument) kind() meta.Kind {
	if a.Related != "" {
		return meta.Relation
	}
	if strings.HasPrefix(a.Name, "Is") {
		return meta.Boolean
	}
	return meta.Numeric
}

// required reports whether the argument must be present.
func (a Argument) required() bool { return a.kind() != meta.Boolean }
