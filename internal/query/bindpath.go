package query

import (
	"slices"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// path binds a parsed token that starts at an asset of the type in the parameter on.
func (b *binder) path(on *meta.Type, src token.Path) (Path, error) {
	p := Path{Text: src.String(), On: on}
	hops := src.Hops
	if t := b.prefix(on, hops); t != nil {
		hops = hops[1:]
		p.Text = token.Path{Hops: hops, Agg: src.Agg}.String()
		if t != on && t.IsA(on) {
			p.On, p.Only = t, t.Concrete
		}
	}
	cur := p.On
	for i, h := range hops {
		if p.Leaf != (Leaf{}) {
			return Path{}, unknownAttr(h.At, p.On.Name, token.Path{Hops: hops[:i+1]}.String())
		}
		cur = narrowToOwner(&p, cur, h)
		if err := b.hop(&p, cur, h, src); err != nil {
			return Path{}, err
		}
		cur = p.To()
	}
	return p, b.aggregate(&p, src)
}

// prefix returns the type with which a token begins, such as Story in Story.Name. This type must be
// the type in the parameter on, or a type above or below that type. prefix returns nil if there is
// no such type, or if on has an attribute of this name.
func (b *binder) prefix(on *meta.Type, hops []token.Hop) *meta.Type {
	h := hops[0]
	if len(hops) < 2 || h.Down != "" || h.Filter != nil || h.Now {
		return nil
	}
	if _, isAttr := on.Attr(h.Name); isAttr {
		return nil
	}
	if t, ok := b.m.Type(h.Name); ok && (t.IsA(on) || on.IsA(t)) {
		return t
	}
	return nil
}

// narrowToOwner narrows the last relation of p to one of its target types, and returns this type.
// It is the first target type that has the attribute of the hop next. The relation is narrowed only
// if cur itself has no such attribute. Example: only stories have a Risk. So the Risk of a story's
// Dependencies is the Risk of the stories among them, and null for all other assets.
func narrowToOwner(p *Path, cur *meta.Type, next token.Hop) *meta.Type {
	if _, ok := cur.Attr(next.Name); ok || len(p.Steps) == 0 {
		return cur
	}
	if part, some := cur.Partial(next.Name); some && part.Clash == "" {
		return cur
	}
	s := &p.Steps[len(p.Steps)-1]
	if s.Only != nil || s.To != s.Attr.Related {
		return cur
	}
	among := s.Attr.Among
	if own := s.Attr.On; slices.Contains(s.Attr.Targets, own) {
		among = []*meta.Type{own}
	}
	for _, t := range among {
		if _, ok := t.Attr(next.Name); ok {
			s.To, s.Only = t, t.Concrete
			return t
		}
	}
	return cur
}

// hop adds one part of a token to p: a step, or the leaf.
func (b *binder) hop(p *Path, cur *meta.Type, h token.Hop, src token.Path) error {
	if err := b.attribute(p, cur, h, src); err != nil {
		return err
	}
	if h.Down == "" && h.Filter == nil && !h.Now {
		return nil
	}
	if p.Leaf != (Leaf{}) || len(p.Steps) == 0 {
		return badToken(h.At, src.String(), h.Name+" is no relation")
	}
	return b.narrow(&p.Steps[len(p.Steps)-1], h, src)
}

// attribute adds the attribute h.Name of the type cur to p.
func (b *binder) attribute(p *Path, cur *meta.Type, h token.Hop, src token.Path) error {
	a, ok := cur.Attr(h.Name)
	if !ok {
		part, some := cur.Partial(h.Name)
		if !some {
			return unknownAttr(h.At, cur.Name, h.Name)
		}
		return b.partial(p, part, h, src)
	}
	p.Def = a
	switch {
	case a.Place.Kind == meta.Secret:
		return badToken(h.At, src.String(), "a password cannot be read")
	case computed(a):
		return b.derived(p, cur, a)
	case a.Kind == meta.Relation:
		p.Steps = append(p.Steps, Step{Attr: a, To: a.Related})
	default:
		p.Leaf.Attr = a
	}
	return nil
}

// narrow applies the suffixes of a relation to its step s: "#", a downcast (a colon and a type),
// and a filter in brackets.
func (b *binder) narrow(s *Step, h token.Hop, src token.Path) error {
	s.Now = h.Now
	if h.Down != "" {
		var err error
		if s.To, s.Only, err = b.downcast(s.To, s.Attr, h, src.String()); err != nil {
			return err
		}
	}
	if h.Filter == nil {
		return nil
	}
	outer := b.mentionsState
	b.mentionsState = false
	c, err := b.cond(s.To, *h.Filter)
	s.Filter, s.Deleted = &c, b.mentionsState
	b.mentionsState = outer
	return err
}

// downcast returns the type after the colon, and the concrete types that remain; nil: no type is
// excluded. via is the relation that is narrowed; nil: the type in the key from of a query is
// narrowed.
func (b *binder) downcast(from *meta.Type, via *meta.Attr, h token.Hop, text string) (*meta.Type, []*meta.Type, error) {
	t, err := b.typeNamed(h.Down, h.DownAt)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case t.IsA(from), via != nil && via.Reaches(t) && !from.IsA(t):
		return t, t.Concrete, nil
	case from.IsA(t):
		return from, nil, nil
	}
	return nil, nil, badToken(h.DownAt, text, t.Name+" is no kind of "+from.Name)
}

// derived adds to p an attribute that the model defines by a token, a filter or an operation.
func (b *binder) derived(p *Path, cur *meta.Type, a *meta.Attr) error {
	if b.derivedDepth++; b.derivedDepth > maxDerived {
		return definedByItself(a.Token())
	}
	defer func(mentionsState bool) { b.derivedDepth--; b.mentionsState = mentionsState }(b.mentionsState)
	if a.Place.Kind == meta.Validator {
		c, err := b.mayRun(cur, a)
		p.Leaf.Cond = &c
		return err
	}
	if a.Kind == meta.Boolean {
		f, err := token.ParseFilter(a.Place.Expr)
		if err != nil {
			return err
		}
		c, err := b.cond(cur, f)
		if cur.Sealed != nil && (a.Name == "IsReadOnly" || a.Name == "CanUpdate") {
			c.forAll() // a sealed asset is sealed for every member, whatever the member sees
		}
		c = b.withRight(a, c)
		p.Leaf.Cond = &c
		return err
	}
	parsed, err := token.Parse(a.Place.Expr)
	if err != nil {
		return err
	}
	q, err := b.path(cur, parsed)
	if err != nil {
		return err
	}
	if q.Agg != None {
		p.Leaf.Path = &q
		return nil
	}
	p.Steps = append(p.Steps, q.Steps...)
	p.Leaf = q.Leaf
	return nil
}

// mayRun returns the condition that the member may run an operation on an asset. It has two parts:
// the condition of the operation, which also reads assets that the member does not see, and the
// member's right to run the operation.
func (b *binder) mayRun(cur *meta.Type, a *meta.Attr) (Cond, error) {
	op, known := cur.Op(a.Place.Expr)
	if _, ok := cur.Attr("AssetState"); !ok || !known {
		return Cond{}, notBuilt(a.Token())
	}
	f, err := token.ParseFilter(op.Condition())
	if err != nil {
		return Cond{}, err
	}
	c, err := b.cond(cur, f)
	c.forAll()
	return b.withRight(a, c), err
}

// forAll changes a condition so that it also reads assets that the member does not see.
func (c *Cond) forAll() {
	for i := range c.Kids {
		c.Kids[i].forAll()
	}
	c.Term.Path.forAll()
}

func (p *Path) forAll() {
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.All = true; s.Filter != nil {
			s.Filter.forAll()
		}
	}
	if p.Leaf.Cond != nil {
		p.Leaf.Cond.forAll()
	}
	if p.Leaf.Path != nil {
		p.Leaf.Path.forAll()
	}
}
