package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// partial adds to p an attribute that only some of the concrete types have.
func (b *binder) partial(p *Path, part *meta.Partial, h token.Hop, src token.Path) error {
	a := part.Attr
	p.Def = a
	switch {
	case a.Place.Kind == meta.Secret:
		return badToken(h.At, src.String(), "a password cannot be read")
	case part.Clash != "":
		return badToken(h.At, src.String(), part.Clash+"; name the type")
	case a.Kind == meta.Relation:
		s := Step{Attr: a, To: a.Related, Of: part.Of}
		if !part.Alone() {
			s.Types = part.Types()
		}
		p.Steps = append(p.Steps, s)
	case part.Alone():
		p.Leaf.Attr = a
	default:
		return b.union(p, part, src)
	}
	return nil
}

// union binds an attribute that is stored or defined differently for different types of the asset.
func (b *binder) union(p *Path, part *meta.Partial, src token.Path) error {
	u := &Union{Attr: part.Attr}
	for _, a := range part.Of {
		if u.joins(a) {
			continue
		}
		on := a.On
		if computed(a) {
			on = a.Declared
		}
		sub := Path{Text: src.String(), On: on}
		if err := b.attribute(&sub, on, token.Hop{Name: a.Name}, src); err != nil {
			return err
		}
		c := Case{Types: []*meta.Type{a.On}, Leaf: sub.Leaf, of: a}
		if len(sub.Steps) > 0 {
			c.Leaf = Leaf{Path: &sub}
		}
		u.Cases = append(u.Cases, c)
	}
	p.Leaf.Union = u
	return nil
}

// joins adds the type of the attribute a to an existing case with the same place and default. It
// returns false if there is no such case.
func (u *Union) joins(a *meta.Attr) bool {
	for i := range u.Cases {
		c := &u.Cases[i]
		alike := c.of.Place == a.Place && c.of.Default == a.Default
		if alike && (!computed(a) || c.of.Declared == a.Declared) {
			c.Types = append(c.Types, a.On)
			return true
		}
	}
	return false
}

// computed reports whether the model defines an attribute by a token, a filter or an operation.
// Such a definition is resolved on the type that declares the attribute.
func computed(a *meta.Attr) bool {
	return a.Place.Kind == meta.Calc || a.Place.Kind == meta.Validator
}
