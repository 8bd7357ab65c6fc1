package meta

import (
	"fmt"
	"slices"
)

// Partial is an attribute that an abstract type does not have while some of the
// concrete types below it have one of its name. Assets of the other types have
// no value.
type Partial struct {
	// Attr is what they have in common, under the abstract type's own token: a
	// relation leads to the nearest type above all that it leads to, a date is a
	// day where it is one everywhere. Its Place and Back are those of the first.
	Attr  *Attr
	Of    []*Attr // theirs, in the order of types
	Clash string  // why they cannot be taken together; empty when they can
}

// Partial returns the attribute of a name that only some of the concrete types
// below t have. It reports false when t has it, or none of them.
func (t *Type) Partial(name string) (*Partial, bool) {
	p, ok := t.partials[name]
	return p, ok
}

// Types are the concrete types that have the attribute.
func (p *Partial) Types() []*Type {
	types := make([]*Type, len(p.Of))
	for i, a := range p.Of {
		types[i] = a.On
	}
	return types
}

// partial finds for every abstract type what only some types below it have.
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

// add takes in the attribute of one more concrete type.
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

// targets says which types the relation leads to, where those are not all of the
// related one.
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

// isLong reports whether two kinds are texts of which one is unlimited.
func isLong(a, b Kind) bool {
	return a != b && (a == Text || a == LongText) && (b == Text || b == LongText)
}

func apart(a, b *Attr) string {
	return fmt.Sprintf("%s and %s keep it in different ways", a.On.Name, b.On.Name)
}

// above is the nearest type that both stand below; nil when there is none.
func above(a, b *Type) *Type {
	for _, t := range a.Ancestors() {
		if b.IsA(t) {
			return t
		}
	}
	return nil
}

// alike reports whether two relations are followed in one way.
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

// Alone reports whether the place of p.Attr alone tells its value on every type
// below its own: it is the same where there is one, and empty on all others.
// What lies by ids and codes lies so for nobody else. A Boolean that was never
// written has a value all the same.
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

// keeps reports whether an attribute of t lies in a place, a retired one included.
func (t *Type) keeps(at Place) bool {
	lies := func(a *Attr) bool { return a.Place == at }
	return slices.ContainsFunc(t.Attrs, lies) || slices.ContainsFunc(t.Kept, lies)
}
