package meta

import (
	"fmt"
	"slices"
)

// Partial is an attribute that only some of the concrete types below an abstract type have.
// Assets of the other types have no value.
type Partial struct {
	// Attr is the common form of the attributes in Of, under the abstract type's own token. If they
	// are relations, Attr refers to the nearest common type of all related types. If all of them
	// are dates without a time of day, Attr is such a date, too. Its Place and Back are those of
	// the first attribute in Of.
	Attr  *Attr
	Of    []*Attr // the attributes of the concrete types, in the order of the types
	Clash string  // why the attributes cannot be combined; empty if they can
}

// Partial returns the attribute of a name that only some of the concrete types below t have. It
// returns false if t has the attribute, or if no concrete type below t has it.
func (t *Type) Partial(name string) (*Partial, bool) {
	p, ok := t.partials[name]
	return p, ok
}

// Types returns the concrete types that have the attribute.
func (p *Partial) Types() []*Type {
	types := make([]*Type, len(p.Of))
	for i, a := range p.Of {
		types[i] = a.On
	}
	return types
}

// partial finds the partial attributes of every abstract type.
func (l *loader) partial(*source) {
	for _, t := range l.m.Types {
		t.partials = map[string]*Partial{}
		if !t.Abstract {
			continue
		}
		for _, c := range t.Concrete {
			for _, a := range c.Attrs {
				if t.attrs[a.Name] != nil {
					continue
				}
				p := t.partials[a.Name]
				if p == nil {
					common := *a
					common.On, common.Declared, common.Targets, common.Among = t, t, nil, nil
					p = &Partial{Attr: &common}
					t.partials[a.Name] = p
				}
				p.add(a)
			}
		}
	}
}

// add adds the attribute of one more concrete type.
func (p *Partial) add(a *Attr) {
	c, first := p.Attr, a
	if len(p.Of) > 0 {
		first = p.Of[0]
	}
	p.Of = append(p.Of, a)
	c.DateOnly, c.UTC = c.DateOnly && a.DateOnly, c.UTC && a.UTC
	if isLong(c.Kind, a.Kind) {
		c.Kind = LongText
	}
	switch {
	case p.Clash != "":
	case c.Kind != a.Kind && !isLong(c.Kind, a.Kind):
		p.Clash = fmt.Sprintf("it is %s on %s and %s on %s", first.Kind, first.On.Name, a.Kind, a.On.Name)
	case c.Multi != a.Multi:
		p.Clash = fmt.Sprintf("it has one value and many, on %s and %s", first.On.Name, a.On.Name)
	case a.Kind != Relation:
		if a.Multi && a.Place != first.Place {
			p.Clash = apart(first, a)
		}
	default:
		if c.Related = above(c.Related, a.Related); c.Related == nil {
			p.Clash = fmt.Sprintf("it leads to %s from %s and to %s from %s", first.Related.Name, first.On.Name, a.Related.Name, a.On.Name)
		} else if !alike(first, a) {
			p.Clash = apart(first, a)
		}
		p.targets()
	}
}

// targets sets the target types of the relation if they are not exactly those of the related
// type.
func (p *Partial) targets() {
	if p.Clash != "" {
		return
	}
	var all []*Type
	for _, a := range p.Of {
		for _, t := range a.TargetTypes() {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	p.Attr.Targets = nil
	if special := func(a *Attr) bool { return a.Targets != nil }; slices.ContainsFunc(p.Of, special) {
		p.Attr.Targets = all
	}
}

// isLong reports whether one kind is Text and the other LongText.
func isLong(a, b Kind) bool {
	return a != b && (a == Text || a == LongText) && (b == Text || b == LongText)
}

func apart(a, b *Attr) string {
	return fmt.Sprintf("%s and %s store the attribute in different ways", a.On.Name, b.On.Name)
}

// above returns the nearest common ancestor of two types, or nil.
func above(a, b *Type) *Type {
	for _, t := range a.Ancestors() {
		if b.IsA(t) {
			return t
		}
	}
	return nil
}

// alike reports whether the targets of two relations are read in the same way.
func alike(a, b *Attr) bool {
	switch a.Place.Kind {
	case InLinks, InLinksBack:
		return b.Place.Kind == a.Place.Kind
	case Reverse:
		return b.Place.Kind == Reverse && a.Back.Place.Column == b.Back.Place.Column
	case InColumn, Closure, System:
		return a.Place == b.Place
	}
	return false
}

// Alone reports whether the place of p.Attr is enough to read its value on every concrete type.
// Then all types that have the attribute use this place, and all other types leave it empty. A
// place with an id or a code belongs to only one attribute. Alone is false for a stored Boolean,
// because a Boolean that was never written still has a value.
func (p *Partial) Alone() bool {
	at := p.Attr.Place
	switch at.Kind {
	case Reverse, InLinks, InLinksBack, InValues, Closure:
		return true
	case InColumn, InAttrs:
		if p.Attr.Kind == Boolean {
			return false
		}
	default:
		return false
	}
	types := p.Types()
	for _, a := range p.Of {
		if a.Place != at {
			return false
		}
	}
	return !slices.ContainsFunc(p.Attr.On.Concrete, func(t *Type) bool { return !slices.Contains(types, t) && t.keeps(at) })
}

// keeps reports whether an attribute of t, possibly a retired one, has this place.
func (t *Type) keeps(at Place) bool {
	lies := func(a *Attr) bool { return a.Place == at }
	return slices.ContainsFunc(t.Attrs, lies) || slices.ContainsFunc(t.Kept, lies)
}
