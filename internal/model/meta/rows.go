package meta

import (
	"slices"
	"strings"
)

// Row is an asset that describes a part of the model: a type, an attribute or operation that a type
// declares, or a change to an inherited attribute.
type Row struct {
	Type   *Type  // a metadata type, such as SimpleAttributeDefinition
	Of     string // the asset type it belongs to; empty for a Row of an asset type
	Name   string
	Values []RowValue
}

// RowValue is the value of one attribute of a Row: a string, an int64 or true. In a relation
// to an AssetType it is the name of that type.
type RowValue struct {
	Attr  *Attr
	Value any
}

// Key returns a text that identifies a row forever: its kind, the type it belongs to, and its name.
func (r *Row) Key() string { return r.Type.Name + " " + r.Of + " " + r.Name }

// Rows returns the model as assets: first its types in order, then the declarations of each
// type. A model without metadata has no rows.
func (m *Model) Rows() []Row {
	b := &rowBuilder{m: m}
	if _, ok := m.types["AssetType"]; !ok {
		return nil
	}
	for _, t := range m.Types {
		b.assetType(t)
	}
	for _, t := range m.Types {
		for _, a := range t.Attrs {
			if a.Declared == t && !a.Custom {
				b.attribute(a)
			}
		}
		for _, op := range t.Ops {
			if op.Declared == t {
				b.operation(op)
			}
		}
	}
	return b.all
}

// rowBuilder collects rows. The method add begins a row, and the method with adds a value to the
// last row.
type rowBuilder struct {
	m   *Model
	all []Row
}

// add begins a row of a metadata type.
func (b *rowBuilder) add(typ, of, name string) {
	b.all = append(b.all, Row{Type: b.m.types[typ], Of: of, Name: name})
	b.with("Name", name)
	b.with("Asset", of)
}

// This method adds a value to the last row, unless the value is empty or the type has no such
// attribute.
func (b *rowBuilder) with(name string, v any) {
	r := &b.all[len(b.all)-1]
	a, ok := r.Type.attrs[name]
	if !ok || v == "" || v == false {
		return
	}
	r.Values = append(r.Values, RowValue{a, v})
}

func (b *rowBuilder) assetType(t *Type) {
	b.add("AssetType", "", t.Name)
	if t.Parent != nil {
		b.with("Base", t.Parent.Name)
	}
	if len(t.Hierarchies) > 0 {
		b.with("DefaultHierarchyAttribute", t.Hierarchies[0].Up.Name)
	}
	b.with("DefaultOrderByAttribute", t.OrderBy)
	b.with("ShortNameAttribute", t.ShortName)
	b.with("NameResolutionAttributes", strings.Join(t.ResolveBy, ","))
	if t.NumberPrefix != "" {
		b.with("NumberPattern", t.NumberPrefix+"00000")
	}
	b.with("SecurityScopeRelation", b.securityScope(t))
	switch via := t.attrs[t.Secured.Via]; {
	case t.Rights.On != nil:
		b.with("SecureViaRelation", t.Rights.On.Name)
	case via != nil && via.Related.Name != "Scope":
		b.with("SecureViaRelation", via.Name)
	}
	if t.Rights.Kind != nil {
		b.with("UpdateRights", int64(t.Rights.Kind.Roles(ToChange, "")))
		b.with("ViewRights", int64(b.readers()))
	}
}

// securityScope returns the relation to the project that decides who sees an asset.
func (b *rowBuilder) securityScope(t *Type) string {
	if t.Secured.Self {
		return "ID"
	}
	if via := t.attrs[t.Secured.Via]; via != nil && via.Related.Name == "Scope" {
		return via.Name
	}
	return ""
}

// readers returns the roles that read the contents of their project.
func (b *rowBuilder) readers() RoleSet {
	var all RoleSet
	for _, r := range b.m.Rights.Order {
		if r.Reads() {
			all |= 1 << r
		}
	}
	return all
}

func (b *rowBuilder) attribute(a *Attr) {
	t := a.On
	if t.Parent != nil && t.Parent.attrs[a.Name] != nil {
		b.override(a)
		return
	}
	b.add(a.definedBy(), t.Name, a.Name)
	b.with("AttributeType", string(a.Kind))
	b.with("IsDateOnly", a.DateOnly)
	b.with("IsMultivalue", a.Multi)
	b.with("IsBasic", slices.Contains(t.Basic, a))
	b.with("IsReadOnly", a.ReadOnly)
	b.with("IsRequired", a.Required)
	b.with("NativeValue", a.isStored())
	if a.Related != nil {
		b.with("RelatedAssetType", a.Related.Name)
		b.with("IsAssetHistory", a.Name == "History")
	}
	if a.Back != nil {
		b.with("ReverseName", a.Back.Name)
		b.with("ReverseIsBasic", slices.Contains(a.Related.Basic, a.Back))
	}
	b.with("Calculation", b.calculation(a))
	if a.Place.Kind == Validator {
		b.with("Operation", a.Place.Expr)
	}
}

// calculation returns the expression of a derived attribute, or the name of the code that
// computes it.
func (b *rowBuilder) calculation(a *Attr) string {
	if a.Place.Kind != Validator {
		return a.Place.Expr
	}
	return a.On.ops[a.Place.Expr].Condition()
}

func (b *rowBuilder) override(a *Attr) {
	b.add("Override", a.On.Name, a.Name)
	b.with("IsBasic", slices.Contains(a.On.Basic, a))
	b.with("IsReadOnly", a.ReadOnly)
	b.with("IsRequired", a.Required)
	if a.Related != nil {
		b.with("RelatedAssetType", a.Related.Name)
	}
	b.with("Calculation", b.calculation(a))
}

func (b *rowBuilder) operation(op *Op) {
	b.add("Operation", op.On.Name, op.Name)
	b.with("AssetTypeName", op.On.Name)
	b.with("Implementation", op.implementation())
	b.with("Validator", op.Validator)
	if k := op.On.KindOf(op.Name); k != nil {
		verb := ToOperate
		if op.Name == "Delete" || op.Name == "Undelete" {
			verb = ToDelete
		}
		b.with("ExecuteRights", int64(k.Roles(verb, op.Name)))
	}
}

// implementation returns the name of the code for the operation: its own code, or common code that
// sets a state and values.
func (o *Op) implementation() string {
	switch {
	case o.Effect.Code != "":
		return o.Effect.Code
	case o.Effect.Back:
		return "Restore"
	case o.Effect.To >= 0:
		return "SetState"
	}
	return "SetValues"
}

// isStored reports whether the value is stored itself, not derived from others.
func (a *Attr) isStored() bool {
	switch a.Place.Kind {
	case InColumn, InAttrs, InValues, InLinks:
		return true
	}
	return false
}

// definedBy returns the type of the asset that defines the attribute.
func (a *Attr) definedBy() string {
	switch {
	case a.Kind == Relation && a.ofHierarchy():
		return "HierarchyRelationDefinition"
	case a.ToOne() || a.Kind == Relation && a.Back != nil && a.Back.ToOne():
		return "OneToManyRelationDefinition"
	case a.Kind == Relation:
		return "ManyToManyRelationDefinition"
	case a.Place.Kind == Validator:
		return "ExecuteSecurityCheckAttributeDefinition"
	case a.Place.Kind == Calc || a.Place.Kind == System:
		return "SyntheticAttributeDefinition"
	}
	return "SimpleAttributeDefinition"
}

// ofHierarchy reports whether a relation defines a hierarchy, or is generated from a hierarchy.
func (a *Attr) ofHierarchy() bool {
	return a.Place.Kind == Closure || slices.ContainsFunc(a.On.Hierarchies, func(h Hierarchy) bool {
		return h.Up.Name == a.Name || h.Down.Name == a.Name
	})
}
