package bulk

import (
	"slices"

	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/write/asset"
)

// nested is a create in the value of a relation.
type nested struct {
	attr  *meta.Attr // the relation
	alias string     // empty: none
	node  *document.Node
}

// splitNested removes the nested creates from the value of a relation. It returns the rest of the
// field, and the creates that come after s. If nothing is left of the field, its node is nil. For
// a create that must come before s, splitNested adds the step and leaves the alias of the create in
// the value.
func (p *projection) splitNested(s *step, f field, c *command, inParent bool) (field, []nested) {
	if f.node.IsScalar() || s.typ == nil {
		return f, nil
	}
	a, ok := s.typ.Attr(f.name)
	if !ok || a.Kind != meta.Relation {
		return f, nil
	}
	list := f.node
	if add, ok := f.node.Get("add"); ok && f.node.Kind == document.Map {
		list = add
	}
	var found []nested
	left := make([]document.Node, 0, len(list.Items))
	for _, item := range itemsOf(list) {
		alias, inner, ok := nestedCreate(item)
		switch {
		case !ok:
			left = append(left, *item)
		case a.ToOne() || a.Back == nil:
			left = append(left, p.createFirst(s, c, alias, inner, inParent))
		default:
			found = append(found, nested{a, alias, inner})
		}
	}
	if len(left) == len(itemsOf(list)) && len(found) == 0 && !changed(left, list) {
		return f, nil
	}
	return withItems(f, list, left), found
}

// changed reports whether an alias has replaced a nested create.
func changed(left []document.Node, list *document.Node) bool {
	for i, item := range itemsOf(list) {
		if left[i].Kind != item.Kind {
			return true
		}
	}
	return false
}

// withItems returns a copy of a field in which the items of list are replaced by left.
func withItems(f field, list *document.Node, left []document.Node) field {
	value := document.Node{Kind: document.List, Items: left, At: list.At}
	if list.Kind != document.List && len(left) == 1 {
		value = left[0]
	}
	if list != f.node {
		whole := document.Node{Kind: document.Map, Keys: f.node.Keys, Items: slices.Clone(f.node.Items), At: f.node.At}
		for i, k := range whole.Keys {
			if k == "add" {
				whole.Items[i] = value
			}
		}
		return field{f.name, &whole}
	}
	if len(left) == 0 {
		return field{f.name, nil}
	}
	return field{f.name, &value}
}

func itemsOf(n *document.Node) []*document.Node {
	if n.Kind != document.List {
		return []*document.Node{n}
	}
	all := make([]*document.Node, len(n.Items))
	for i := range n.Items {
		all[i] = &n.Items[i]
	}
	return all
}

// nestedCreate returns the create in a value, with its alias if it has one. ok is true if the
// value is a create.
func nestedCreate(n *document.Node) (alias string, inner *document.Node, ok bool) {
	if n.Kind != document.Map {
		return "", nil, false
	}
	alias, inner, ok = unwrapAlias(n)
	if !ok {
		alias, inner = "", n
	}
	_, ok = inner.Get("AssetType")
	return alias, inner, ok
}

// createFirst adds the step of a create before the step of its parent. It returns the alias of
// the create, which replaces the create in the value.
func (p *projection) createFirst(owner *step, c *command, alias string, n *document.Node, inParent bool) document.Node {
	s := p.create(c, n, alias, asset.Ref{}, inParent)
	s.owner = owner
	p.aliases[s.label()] = true
	s.handle.Alias = s.label()
	return document.Node{Kind: document.String, Text: s.label(), At: n.At}
}

// canReference reports whether a create sets a relation that accepts assets of type t. The
// parameter but is the name of a relation that canReference ignores.
func (s *step) canReference(t *meta.Type, but string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool {
		a, ok := s.typ.Attr(f.name)
		return ok && a.Kind == meta.Relation && a.Name != but && a.Reaches(t)
	})
}

// nested adds the step of a create after the step of its parent. The parent is the context of the
// create: the asset from which the create gets default values. If the defaults do not set the
// relation to the parent, nested sets it explicitly. The defaults do not set the relation if
// another relation of the create can refer to the parent.
func (p *projection) nested(c *command, parent *step, b nested, inParent bool) {
	ref := asset.Ref{Handle: parent.handle, OID: parent.from}
	s := p.create(c, b.node, b.alias, ref, inParent)
	s.parent = parent
	back := b.attr.Back
	if s.typ == nil || parent.typ == nil ||
		asset.Implied(s.typ, parent.typ, back.Name) && !s.canReference(parent.typ, back.Name) {
		return
	}
	own, ok := s.typ.Attr(back.Name)
	if !ok {
		own = back
	}
	token := document.Node{Kind: document.String, Text: tokenOf(s.context)}
	for i := range s.fields {
		if s.fields[i].name != own.Name {
			continue
		}
		if own.Multi {
			list := append([]document.Node{token}, membersOf(s.fields[i].node, true)...)
			s.fields[i].node = &document.Node{Kind: document.List, Items: list}
		}
		return
	}
	s.fields = append(s.fields, field{own.Name, &token})
}
