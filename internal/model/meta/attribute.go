package meta

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// decl is one attribute as a type declares it, before other types inherit it.
type decl struct {
	attr     Attr // On, Back and Place.Closure.Up are not set yet
	back     string
	self     bool      // true for a relation to the type that has the attribute
	override *fileAttr // the change to an inherited attribute; nil for a new attribute
	only     []*Type   // the concrete types at both ends; nil means all
	up       string    // for a closure: the attribute that defines the hierarchy
	made     bool      // the attribute is a generated reciprocal
	line     int
}

// flag returns a flag of the file, or the parameter otherwise if the file does not set the flag.
func flag(given *bool, otherwise bool) bool {
	if given == nil {
		return otherwise
	}
	return *given
}

var kinds = []Kind{
	Boolean, Numeric, Date, Duration, Text, LongText, LocalizerTag, Password,
	AssetType, Relation, Opaque, State, Rank, Blob, LongInt, GUID,
}

// fixedColumns are the columns that every asset has and that are not in Model.Columns.
var fixedColumns = []string{"id", "type", "state", "moment"}

// columnKinds maps an attribute kind to the column kinds that its attributes may use.
var columnKinds = map[Kind][]ColumnKind{
	Text: {Str}, LocalizerTag: {Str}, LongText: {Long}, Numeric: {Number},
	Rank: {Int}, Date: {Micros}, Relation: {Ref},
}

// declare collects the declarations of each type: the declarations in the file, and those that are
// generated from them. It visits types in the order of the file. It declares reciprocals after the
// attributes of all types, so the reciprocals of a type come after its own attributes.
func (l *loader) declare(s *source) {
	for _, t := range l.m.Types {
		if t.Parent == nil {
			l.attributes(s, t, &s.file.System)
		}
		l.attributes(s, t, &l.files[t].Attributes)
		l.closures(t)
		l.operationsOf(t)
	}
	for _, t := range l.m.Types {
		for _, d := range l.own[t] {
			l.reciprocal(t, d)
		}
	}
	l.customAttributes()
}

// attributes declares one section of attributes on t.
func (l *loader) attributes(s *source, t *Type, n *yaml.Node) {
	for _, e := range l.entries(n) {
		fa, err := s.attrs.read(e.node, decodeAttr)
		if err != nil {
			l.fail(err)
			continue
		}
		d, err := l.declared(t, e.key, fa)
		if err != nil {
			l.fail(at(e.line, "%s.%s: %w", t.Name, e.key, err))
			continue
		}
		d.line = e.line
		l.own[t] = append(l.own[t], d)
	}
}

// declared turns one attribute of the file into a declaration.
func (l *loader) declared(t *Type, name string, fa fileAttr) (*decl, error) {
	d := &decl{back: fa.Back, self: fa.To == "self"}
	d.attr = Attr{
		Name: name, Declared: t, Kind: fa.Is, DateOnly: fa.DateOnly, UTC: fa.UTC, Multi: fa.Many,
		ReadOnly: flag(fa.ReadOnly, fa.System || fa.Calc != ""), Required: flag(fa.Required, false),
		Canned: true, Default: fa.Default,
	}
	if fa.To != "" {
		d.attr.Kind = Relation
		related, ok := l.m.types[fa.To]
		if !ok && !d.self {
			return nil, fmt.Errorf("no type %s", fa.To)
		}
		d.attr.Related = related
		if err := l.targets(d, fa); err != nil {
			return nil, err
		}
	}
	if fa.Range != nil {
		if d.attr.Kind != Numeric || len(fa.Range) != 2 || fa.Range[0] >= fa.Range[1] {
			return nil, fmt.Errorf("range must be the lowest and the highest value of a Numeric")
		}
		d.attr.Range = &Range{fa.Range[0], fa.Range[1]}
	}
	for _, taken := range fa.Takes {
		some, ok := l.m.types[taken]
		if !ok {
			return nil, fmt.Errorf("no type %s", taken)
		}
		d.attr.Among, d.attr.Targets = append(d.attr.Among, some), append(d.attr.Targets, some.Concrete...)
	}
	if fa.Override {
		d.override = &fa
		if fa.Is == "" {
			return d, nil
		}
	}
	if !slices.Contains(kinds, d.attr.Kind) {
		return nil, fmt.Errorf("no attribute type %q", d.attr.Kind)
	}
	var err error
	d.attr.Place, err = l.place(&d.attr, fa)
	return d, err
}

// targets reads the target types of a relation, if the file restricts them to some types at both
// ends, or adds types to the related type.
func (l *loader) targets(d *decl, fa fileAttr) error {
	named := make([]*Type, 0, len(fa.Only)+len(fa.Also))
	for _, name := range slices.Concat(fa.Only, fa.Also) {
		t, ok := l.m.types[name]
		if !ok || t.Abstract {
			return fmt.Errorf("no type %s that has assets", name)
		}
		named = append(named, t)
	}
	switch {
	case len(named) == 0:
	case fa.Override || d.self || len(fa.Only) > 0 && len(fa.Also) > 0:
		return fmt.Errorf("only and also are for new relations, and a relation cannot have both")
	case len(fa.Only) > 0:
		d.only, d.attr.Targets = named, named
	default:
		d.attr.Targets = slices.Concat(d.attr.Related.Concrete, named)
	}
	return nil
}

// place decides where the value of an attribute of the file is stored.
func (l *loader) place(a *Attr, fa fileAttr) (Place, error) {
	switch {
	case fa.System:
		return Place{Kind: System, Expr: a.Name}, nil
	case fa.Calc != "":
		return Place{Kind: Calc, Expr: fa.Calc}, nil
	case a.Kind == Password:
		return Place{Kind: Secret}, nil
	case fa.Column != "":
		return l.inColumn(a, fa.Column)
	case a.Kind == Relation && fa.Link > 0:
		return Place{Kind: InLinks, Code: fa.Link}, nil
	case a.Kind == Relation:
		return Place{}, fmt.Errorf("a relation needs a column or a link code")
	case a.Multi && fa.Values > 0:
		return Place{Kind: InValues, Code: fa.Values}, nil
	case a.Multi || fa.Values > 0 || fa.Link > 0:
		return Place{}, fmt.Errorf("values is for multi-value scalars, link is for relations")
	}
	return Place{Kind: InAttrs, Column: a.Name}, nil
}

func (l *loader) inColumn(a *Attr, column string) (Place, error) {
	if slices.Contains(fixedColumns, column) {
		return Place{Kind: InColumn, Column: column, Slot: -1}, nil
	}
	slot, ok := l.slots[column]
	if !ok {
		return Place{}, fmt.Errorf("no column %s", column)
	}
	if a.Multi || !slices.Contains(columnKinds[a.Kind], l.m.Columns[slot].Kind) {
		return Place{}, fmt.Errorf("column %s cannot store the attribute", column)
	}
	return Place{Kind: InColumn, Column: column, Slot: slot}, nil
}

// reciprocal declares the other side of a relation on the related type.
func (l *loader) reciprocal(t *Type, d *decl) {
	if d.back == "" || d.self || d.override != nil || d.up != "" || d.made {
		return
	}
	place := Place{Kind: Reverse}
	switch d.attr.Place.Kind {
	case InLinks:
		place = Place{Kind: InLinksBack, Code: d.attr.Place.Code}
	case System:
		place = Place{Kind: System, Expr: d.back}
	}
	ends := []*Type{d.attr.Related}
	for _, other := range d.attr.Targets {
		if !other.IsA(d.attr.Related) {
			ends = append(ends, other)
		}
	}
	for _, related := range ends {
		l.own[related] = append(l.own[related], &decl{made: true, line: d.line, back: d.attr.Name, only: d.only, attr: Attr{
			Name: d.back, Declared: related, Kind: Relation, Related: t, Targets: d.only, Multi: true,
			ReadOnly: !d.attr.Multi, Canned: d.attr.Canned, Custom: d.attr.Custom, Retired: d.attr.Retired,
			Definition: d.attr.Definition, Place: place,
		}})
	}
}

// closures declares the generated relations of the hierarchies of t.
func (l *loader) closures(t *Type) {
	for _, h := range l.files[t].Hierarchies {
		for _, down := range []bool{false, true} {
			base, other, far, otherFar := h.Up, h.Down, "Up", "Down"
			if down {
				base, other, far, otherFar = h.Down, h.Up, "Down", "Up"
			}
			l.closure(t, h.Up, base+"AndMe", other+"AndMe", ClosureOf{Down: down, Me: true})
			l.closure(t, h.Up, base+"And"+far, other+"And"+otherFar, ClosureOf{Down: down, Transitive: true})
			l.closure(t, h.Up, base+"MeAnd"+far, other+"MeAnd"+otherFar, ClosureOf{Down: down, Me: true, Transitive: true})
		}
	}
}

func (l *loader) closure(t *Type, up, name, back string, of ClosureOf) {
	place := Place{Kind: Closure, Closure: of}
	l.own[t] = append(l.own[t], &decl{up: up, back: back, attr: Attr{
		Name: name, Declared: t, Kind: Relation, Related: t, Multi: true, ReadOnly: true, Canned: true, Place: place,
	}})
}
