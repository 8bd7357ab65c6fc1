package bulk

import (
	"slices"

	"github.com/alds-dev/alds/internal/asset"
	"github.com/alds-dev/alds/internal/doc"
	"github.com/alds-dev/alds/internal/meta"
)

// nested is a create found in the value of a relation.
type nested struct {
	attr  *meta.Attr
	alias string
	node  *doc.Node
}

// split takes nested creates out of a relation's value. A field without a node
// has nothing left to say.
func (p *projection) split(s *step, f field, c *command, inside bool) (field, []nested) {
	if f.node.IsScalar() || s.typ == nil {
		return f, nil
	}
	a, ok := s.typ.Attr(f.name)
	if !ok || a.Kind != meta.Relation {
		return f, nil
	}
	list := f.node
	if add, ok := f.node.Get("add"); ok && f.node.Kind == doc.Map {
		list = add
	}
	var found []nested
	kept := make([]doc.Node, 0, len(list.Items))
	for _, item := range itemsOf(list) {
		alias, inner, ok := nestedCreate(item)
		switch {
		case !ok:
			kept = append(kept, *item)
		case a.ToOne() || a.Back == nil:
			kept = append(kept, p.before(c, alias, inner, inside))
		default:
			found = append(found, nested{a, alias, inner})
		}
	}
	if len(kept) == len(itemsOf(list)) && len(found) == 0 && !changed(kept, list) {
		return f, nil
	}
	return rebuilt(f, list, kept), found
}

// changed reports whether a nested create has become an alias.
func changed(kept []doc.Node, list *doc.Node) bool {
	for i, item := range itemsOf(list) {
		if kept[i].Kind != item.Kind {
			return true
		}
	}
	return false
}

// rebuilt is a field with what is left of its list.
func rebuilt(f field, list *doc.Node, kept []doc.Node) field {
	rest := doc.Node{Kind: doc.List, Items: kept, At: list.At}
	if list.Kind != doc.List && len(kept) == 1 {
		rest = kept[0]
	}
	if list != f.node {
		whole := doc.Node{Kind: doc.Map, Keys: f.node.Keys, Items: append([]doc.Node(nil), f.node.Items...), At: f.node.At}
		for i, k := range whole.Keys {
			if k == "add" {
				whole.Items[i] = rest
			}
		}
		return field{f.name, &whole}
	}
	if len(kept) == 0 {
		return field{f.name, nil}
	}
	return field{f.name, &rest}
}

func itemsOf(n *doc.Node) []*doc.Node {
	if n.Kind != doc.List {
		return []*doc.Node{n}
	}
	all := make([]*doc.Node, len(n.Items))
	for i := range n.Items {
		all[i] = &n.Items[i]
	}
	return all
}

// nestedCreate recognizes a create command, with or without an alias, inside
// a value.
func nestedCreate(n *doc.Node) (alias string, inner *doc.Node, ok bool) {
	if n.Kind != doc.Map {
		return "", nil, false
	}
	alias, inner, ok = wrapped(n)
	if !ok {
		alias, inner = "", n
	}
	_, ok = inner.Get("AssetType")
	return alias, inner, ok
}

// before makes a create whose alias takes its place in the value.
func (p *projection) before(c *command, alias string, n *doc.Node, inside bool) doc.Node {
	s := p.create(c, n, alias, asset.Ref{}, inside)
	p.aliases[s.label()] = true
	s.handle.Alias = s.label()
	return doc.Node{Kind: doc.String, Text: s.label(), At: n.At}
}

// mayName reports whether a create says a relation, other than the one called
// but, that takes an asset of type t.
func (s *step) mayName(t *meta.Type, but string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool {
		a, ok := s.typ.Attr(f.name)
		return ok && a.Kind == meta.Relation && a.Name != but && a.Reaches(t)
	})
}

// nested makes the create behind its parent, in its context. Where the context
// does not imply the relation the child names its parent itself, and also where
// it may name it in another one: it would then be taken to be made for that.
func (p *projection) nested(c *command, parent *step, b nested, inside bool) {
	ref := asset.Ref{Handle: parent.handle, OID: parent.from}
	s := p.create(c, b.node, b.alias, ref, inside)
	s.parent = parent
	back := b.attr.Back
	if s.typ == nil || parent.typ == nil || asset.Implied(s.typ, parent.typ, back.Name) && !s.mayName(parent.typ, back.Name) {
		return
	}
	own, ok := s.typ.Attr(back.Name)
	if !ok {
		own = back
	}
	token := doc.Node{Kind: doc.String, Text: contextToken(s)}
	for i := range s.fields {
		if s.fields[i].name != own.Name {
			continue
		}
		if own.Multi {
			list := append([]doc.Node{token}, membersOf(s.fields[i].node, true)...)
			s.fields[i].node = &doc.Node{Kind: doc.List, Items: list}
		}
		return
	}
	s.fields = append(s.fields, field{own.Name, &token})
}
