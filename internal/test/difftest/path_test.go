package difftest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
	"github.com/alds-dev/alds/internal/store/collation"
	"github.com/alds-dev/alds/internal/store/db"
)

// path is a token whose names have been found in the model.
type path struct {
	text  string
	on    *meta.Type // type that the token has as prefix, or nil; only rows of this type have a value
	steps []step
	leaf  leaf
	agg   string
	kind  meta.Kind
	to    *meta.Type // type of the assets at the end of the steps
}

// step is one relation of a path.
type step struct {
	attr   *meta.Attr
	each   bool // true: follow the relation with this name of each asset's own type, if the type has one
	to     *meta.Type
	now    bool
	filter *token.Filter
	dead   bool // true: deleted assets are not hidden
}

// leaf says which value of the asset at the end of the steps a path has. The zero leaf is the asset itself.
type leaf struct {
	attr *meta.Attr
	cond *token.Filter // the value is whether the asset matches this filter
	says string        // CanUpdate or IsReadOnly, if rights are combined with cond
	may  *meta.Op      // the value is whether this operation may run
	calc *path         // the value is this computed aggregate
	each bool          // true: read the attribute with this name of each asset's own type, if the type has one
}

// bind returns the path for a token. All names in the token must exist in the model.
func bind(m *meta.Model, on *meta.Type, src token.Path) path {
	p := path{text: src.String(), to: on}
	hops := src.Hops
	plain := hops[0].Down == "" && hops[0].Filter == nil && !hops[0].Now
	if _, isAttr := on.Attr(hops[0].Name); !isAttr && plain && len(hops) > 1 {
		if t, ok := m.Type(hops[0].Name); ok && (t.IsA(on) || on.IsA(t)) {
			hops = hops[1:]
			if t != on && t.IsA(on) {
				p.on, p.to = t, t
			}
		}
	}
	for _, h := range hops {
		p.hop(m, h)
	}
	p.agg = src.Agg
	p.kind = p.kindOf()
	return p
}

func bindText(m *meta.Model, on *meta.Type, s string) path {
	src, err := token.Parse(s)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", s, err))
	}
	return bind(m, on, src)
}

func (p *path) hop(m *meta.Model, h token.Hop) {
	a, ok := p.to.Attr(h.Name)
	each := false
	if !ok {
		part, some := p.to.Partial(h.Name)
		if each = some && part.Clash == ""; each {
			a = common(p.to, h.Name)
		} else if a, ok = p.union(h.Name); !ok {
			panic("unknown " + p.to.Name + "." + h.Name)
		}
	}
	switch {
	case each && a.Kind != meta.Relation:
		p.leaf.attr, p.leaf.each = a, true
	case a.Place.Kind == meta.Validator:
		p.leaf.may, _ = p.to.Op(a.Place.Expr)
	case a.Place.Kind == meta.Calc && a.Kind == meta.Boolean:
		f, err := token.ParseFilter(a.Place.Expr)
		if err != nil {
			panic(err)
		}
		if p.leaf.cond = &f; a.Name == "CanUpdate" || a.Name == "IsReadOnly" {
			p.leaf.says = a.Name
		}
	case a.Place.Kind == meta.Calc:
		q := bindText(m, p.to, a.Place.Expr)
		if q.agg != "" {
			p.leaf.calc = &q
			return
		}
		p.steps, p.leaf, p.to = append(p.steps, q.steps...), q.leaf, q.to
	case a.Kind == meta.Relation:
		s := step{attr: a, each: each, to: a.Related, now: h.Now, filter: h.Filter}
		if h.Down != "" {
			down, _ := m.Type(h.Down)
			if down.IsA(s.to) {
				s.to = down
			}
		}
		s.dead = h.Filter != nil && lifts(m, s.to, *h.Filter)
		p.steps, p.to = append(p.steps, s), s.to
	default:
		p.leaf.attr = a
	}
}

// union finds an attribute that only some of the target types of the last relation have, each with its own
// definition. It then makes the first of these types the end of the relation.
func (p *path) union(name string) (*meta.Attr, bool) {
	if len(p.steps) == 0 {
		return nil, false
	}
	last := &p.steps[len(p.steps)-1]
	for _, t := range last.attr.Among {
		if a, ok := t.Attr(name); ok {
			last.to, p.to = t, t
			return a, true
		}
	}
	return nil, false
}

// common returns one definition for an attribute that several concrete subtypes of on define. If it is a
// relation, it ends in the nearest common type of all definitions. Its dates are days without a time of day
// if that is so in all definitions.
func common(on *meta.Type, name string) *meta.Attr {
	var c *meta.Attr
	for _, t := range on.Concrete {
		a, ok := t.Attr(name)
		switch {
		case !ok:
		case c == nil:
			first := *a
			c = &first
		default:
			c.DateOnly, c.UTC = c.DateOnly && a.DateOnly, c.UTC && a.UTC
			if a.Kind == meta.LongText {
				c.Kind = a.Kind
			}
			for c.Related != nil && !a.Related.IsA(c.Related) {
				c.Related = c.Related.Parent
			}
		}
	}
	if c == nil {
		panic("unknown " + on.Name + "." + name)
	}
	return c
}

func (p *path) kindOf() meta.Kind {
	switch p.agg {
	case "Sum", "Count", "DistinctCount", "Min", "Max":
		return meta.Numeric
	case "MinDate", "MaxDate":
		return meta.Date
	case "And", "Or":
		return meta.Boolean
	case "MaxState":
		return meta.State
	}
	switch {
	case p.leaf.attr != nil:
		return p.leaf.attr.Kind
	case p.leaf.cond != nil || p.leaf.may != nil:
		return meta.Boolean
	case p.leaf.calc != nil:
		return p.leaf.calc.kind
	}
	return meta.Relation
}

// many reports whether the value of a path is a list.
func (p path) many() bool {
	if p.agg != "" {
		return false
	}
	return manySteps(p.steps) || p.leaf.attr != nil && p.leaf.attr.Multi
}

func manySteps(steps []step) bool {
	return slices.ContainsFunc(steps, func(s step) bool { return s.attr.Multi })
}

// purpose says for what a path is followed.
type purpose int

const (
	toList   purpose = iota // hides deleted assets; null if an empty relation has only to-one relations after it
	toTest                  // hides deleted assets; null if any relation is empty
	toGather                // for an aggregate: counts deleted assets too
)

// follow returns the assets at the end of the steps. ctx is the asset that $ stands for.
func (e *evaluator) follow(ctx, n node, steps []step, why purpose) []node {
	if len(steps) == 0 {
		return []node{n}
	}
	s, rest := steps[0], steps[1:]
	next := e.hop(ctx, n, s, why)
	var all []node
	for _, x := range next {
		all = append(all, e.follow(ctx, x, rest, why)...)
	}
	if len(next) > 0 {
		return all
	}
	if why == toTest || why == toList && !manySteps(steps) {
		return []node{{}}
	}
	return nil
}

// hop returns the assets that are related to n by one relation. It leaves out assets that the member may
// not see, deleted assets that are hidden, and assets that do not match the filter in brackets.
func (e *evaluator) hop(ctx, n node, s step, why purpose) []node {
	if n.none() {
		return nil
	}
	hide := why != toGather && s.attr.Multi && !s.dead
	a := s.attr
	if s.each {
		own, has := n.typ.Attr(a.Name)
		if !has {
			return nil
		}
		a = own
	}
	var all []node
	for _, x := range n.related(a) {
		if s.now {
			x = e.w.at(current).get(x.id)
		}
		if x.none() || !x.typ.IsA(s.to) || !e.sees(x) || hide && x.gone() {
			continue
		}
		if s.filter != nil && !e.holds(ctx, x, s.to, *s.filter) {
			continue
		}
		all = append(all, x)
	}
	return all
}

const deleted = 255

// lifts reports whether a filter asks for deleted assets. That is so if it compares IsDeleted or AssetState
// of the filtered assets, whose type is on.
func lifts(m *meta.Model, on *meta.Type, f token.Filter) bool {
	if f.Op != token.Leaf {
		return slices.ContainsFunc(f.Kids, func(k token.Filter) bool { return lifts(m, on, k) })
	}
	h := f.Term.Path.Hops
	last := h[len(h)-1].Name
	own := f.Term.Path.Agg == "" && (last == "IsDeleted" || last == "AssetState")
	return own && len(bind(m, on, f.Term.Path).steps) == 0
}

// values returns the values at the end of a path, or only their aggregate if the path has one. nil stands
// for null.
func (e *evaluator) values(ctx, n node, p path, why purpose) []any {
	if p.on != nil && !n.typ.IsA(p.on) {
		return []any{nil}
	}
	if p.agg != "" {
		return []any{e.aggregate(ctx, n, p)}
	}
	var all []any
	for _, x := range e.follow(ctx, n, p.steps, why) {
		if p.leaf.attr != nil && p.leaf.attr.Multi {
			list := x.multi(p.leaf.attr)
			if len(list) == 0 && why == toTest {
				list = []any{nil}
			}
			all = append(all, list...)
			continue
		}
		all = append(all, e.read(ctx, x, p.leaf))
	}
	return all
}

// read returns the value of a leaf that has a single value.
func (e *evaluator) read(ctx, n node, l leaf) any {
	switch {
	case n.none():
		return nil
	case l.each:
		if _, has := n.typ.Attr(l.attr.Name); !has {
			return nil
		}
		return e.values(ctx, n, bindText(e.w.m, n.typ, l.attr.Name), toList)[0]
	case l.says == "CanUpdate":
		return e.holds(ctx, n, n.typ, *l.cond) && e.mayChange(n)
	case l.says == "IsReadOnly":
		return e.holds(ctx, n, n.typ, *l.cond) || !e.mayChange(n)
	case l.cond != nil:
		return e.holds(ctx, n, n.typ, *l.cond)
	case l.may != nil:
		return e.isOffered(n, l.may.Name) && e.mayOperate(n, l.may.Name)
	case l.calc != nil:
		return e.aggregate(ctx, n, *l.calc)
	case l.attr == nil:
		return n
	}
	a := l.attr
	switch a.Place.Kind {
	case meta.InColumn:
		return n.column(a)
	case meta.InAttrs:
		return n.attr(a)
	case meta.System:
		return e.system(n, a)
	}
	panic("cannot read " + a.Token())
}

// multi returns the sorted values of a multi-value attribute that is not a relation.
func (n node) multi(a *meta.Attr) []any {
	if n.none() {
		return nil
	}
	var found []string
	for _, p := range n.in.w.values {
		if p.code == a.Place.Code && p.from == n.id && p.holds(n.in.moment) {
			found = append(found, p.value)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(collation.Compare(a, b), strings.Compare(a, b)) })
	var all []any
	for _, s := range found {
		all = append(all, typed(a.Kind, s))
	}
	return all
}

func (n node) column(a *meta.Attr) any {
	switch a.Place.Column {
	case "type":
		return n.typ
	case "state":
		return n.state
	}
	v := n.columns[a.Place.Slot]
	if f, ok := v.(int64); ok && a.Kind == meta.Numeric {
		return float64(f)
	}
	return v
}

func (n node) attr(a *meta.Attr) any {
	switch v := n.attrs[a.Place.Column].(type) {
	case nil:
		if a.Kind == meta.Boolean {
			return a.Default == "true" // nothing was written: the default of the model, or false
		}
		return nil
	case bool:
		return v
	case string:
		return v
	default:
		return typed(a.Kind, fmt.Sprint(v))
	}
}

// system returns the value of an attribute that the service computes.
func (e *evaluator) system(n node, a *meta.Attr) any {
	switch a.Name {
	case "Key":
		return n.typ.Shown(n.id)
	case "Moment", "MyLastChangeMoment":
		return n.moment
	case "Is":
		return n.until == db.Forever
	case "IsSelf":
		return n.id == e.who.Member
	case "CreateDate", "CreateDateUTC":
		return n.createdAt
	case "ChangeDate", "ChangeDateUTC", "MyLastChangeDate", "MyLastChangeDateUTC":
		return n.changedAt
	case "ChangeComment", "MyLastChangeComment":
		return e.w.comments[n.audit]
	case "CreateComment":
		return e.w.comments[e.w.versions[n.id][0].audit]
	case "CreateReason", "ChangeReason", "MyLastChangeReason", "RetireReason", "ChangeApplication", "ChangeTool":
		return nil
	case "RetireDate", "RetireDateUTC":
		if x := n.next(); x != nil {
			return x.changedAt
		}
		return nil
	case "RetireComment":
		if x := n.next(); x != nil {
			return e.w.comments[x.audit]
		}
		return nil
	case "ClosedDate":
		if c := n.closing(); c != nil {
			return c.changedAt
		}
		return nil
	case "EstimatedDone":
		detail, todo := n.named("DetailEstimate"), n.named("ToDo")
		if detail == nil || todo == nil {
			return nil
		}
		return detail.(float64) - todo.(float64)
	}
	panic("cannot read " + a.Token())
}

func (n node) named(name string) any {
	a, _ := n.typ.Attr(name)
	return n.column(a)
}
