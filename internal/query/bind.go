package query

import (
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// The limits of one query. Package token has the limits of one token and one filter.
const (
	MaxColumns = 500     // selected tokens in the query or in one nested select; also the maximum number of sort terms
	MaxNested  = 8       // nesting depth of selects
	MaxTerms   = 200     // comparisons in the keys where, filter and find together, including nested selects
	MaxValues  = 200_000 // values in comparisons; the values of a variable count again for each use
	MaxText    = 8 << 20 // bytes of all texts in comparisons

	// MaxSortText is the number of characters of a long text that are used to sort rows. A database
	// keeps this part of the text in memory, and a cursor contains it.
	MaxSortText = 200
	maxDerived  = 8 // nesting depth of derived attributes; a deeper nesting is an error in the model
)

// Bind resolves the names of r against the model and converts its values to their types. It is
// pure: the same request and model always give the same result.
// Errors: fault.Invalid with the interface's messages and the place in the client's input.
func Bind(m *meta.Model, r Request) (Bound, error) {
	return bind(m, r, nil)
}

// BindToken binds one attribute token of a client. The token starts at an asset of the type in the
// parameter on, like a token in the key select.
// Errors: fault.Invalid with the interface's messages.
func BindToken(m *meta.Model, on *meta.Type, text string) (Path, error) {
	b := binder{m: m, terms: new(int), values: new(int), given: new(int), text: new(int), row: on}
	return b.token(on, Text{Text: text})
}

// bind does what Bind does. If slots is not nil, the values of r that may differ between requests
// of the same shape become slots.
func bind(m *meta.Model, r Request, slots *slots) (Bound, error) {
	b := binder{m: m, with: variables(r.With), alias: r.Alias, rest: r.Rest, terms: new(int), values: new(int), given: new(int), text: new(int), slots: slots}
	q, err := b.source(r.From)
	if err != nil {
		return Bound{}, err
	}
	q.One, q.Page, q.AsOf, q.History, q.shared = r.One && !r.History, r.Page, r.AsOf, r.History, slots != nil
	q.Momented, q.Rest, q.Among = r.Momented, r.Rest, r.Among
	if q.One && r.AsOf.Text == AllVersions {
		return Bound{}, versionsOfOne(r.AsOf.At)
	}
	if err := b.fill(&q, r); err != nil {
		return Bound{}, err
	}
	return q, b.groups(&q, r)
}

// variables returns the variables of a request by their names without a leading "$".
func variables(with map[string][]string) map[string][]string {
	named := make(map[string][]string, len(with))
	for _, name := range slices.Sorted(maps.Keys(with)) {
		named[strings.TrimPrefix(name, "$")] = with[name]
	}
	return named
}

// binder binds one level of a request: the query itself or one nested select. All levels of a
// request share terms, values, text and slots.
type binder struct {
	m             *meta.Model
	with          map[string][]string
	alias         func(string) string
	rest          bool
	nested        int         // number of selects around this level
	terms         *int        // comparisons bound so far
	values        *int        // values bound so far
	given         *int        // bytes of the values of all comparisons so far; equal values count each time
	text          *int        // bytes of the texts of all values bound so far
	derivedDepth  int         // number of derived attributes around the current attribute
	row           *meta.Type  // the type of the rows of this level
	mentionsState bool        // true: the current filter mentions IsDeleted or AssetState
	slots         *slots      // nil: values do not become slots
	places        map[int]int // by byte offset of a value in the current text: the index of the value in Shape.values
}

// source binds the key from of the outermost query: a type, a type with a filter, or an Oid.
func (b *binder) source(from Text) (Bound, error) {
	if o, err := oid.Parse(from.Text); err == nil && !o.IsNull() {
		t, ok := b.m.Type(o.Type)
		if !ok && b.rest {
			return Bound{}, unknownType(0, o.Type)
		}
		if !ok {
			return Bound{}, invalidOID(from.At, from.Text)
		}
		id := t.Stored(o.ID)
		q := Bound{Type: t, Only: t.Concrete, ID: &id}
		if strings.Count(from.Text, ":") > 1 {
			q.Moment = &o.Moment
		}
		return q, nil
	}
	if strings.HasPrefix(from.Text, "@") || from.Text == oid.Null {
		return Bound{}, invalidOID(from.At, from.Text)
	}
	p, err := token.Parse(from.Text)
	if err != nil || len(p.Hops) != 1 || p.Agg != "" || p.Hops[0].Now {
		if _, _, colon := strings.Cut(from.Text, ":"); colon && !strings.Contains(from.Text, "[") {
			return Bound{}, invalidOID(from.At, from.Text)
		}
		return Bound{}, unknownType(from.At, from.Text)
	}
	h := p.Hops[0]
	t, err := b.typeNamed(h.Name, h.At)
	if err != nil {
		return Bound{}, shift(err, from)
	}
	q := Bound{Type: t, Only: t.Concrete}
	if h.Down != "" {
		if _, known := b.m.Type(h.Down); !known {
			return Bound{}, invalidOID(from.At, from.Text)
		}
		if q.Type, q.Only, err = b.downcast(t, nil, h, from.Text); err != nil {
			return Bound{}, shift(err, from)
		}
	}
	if h.Filter != nil {
		b.row = q.Type
		c, err := b.cond(q.Type, *h.Filter)
		if err != nil {
			return Bound{}, shift(err, from)
		}
		q.Filter = &c
	}
	return q, nil
}

func (b *binder) typeNamed(name string, at int) (*meta.Type, error) {
	t, ok := b.m.Type(name)
	if !ok {
		return nil, unknownType(at, name)
	}
	return t, nil
}

// fill binds all parts of a query or nested select except its key from.
func (b *binder) fill(q *Bound, r Request) error {
	b.row = q.Type
	for _, bind := range []func(*Bound, Request) error{b.conditions, b.search, b.order, b.columns} {
		if err := bind(q, r); err != nil {
			return err
		}
	}
	q.Deleted = b.mentionsState
	return nil
}

// conditions binds the keys where and filter. All their conditions must hold.
func (b *binder) conditions(q *Bound, r Request) error {
	var all []Cond
	if q.Filter != nil {
		all = append(all, *q.Filter)
	}
	defer func() { b.places = nil }()
	for i, p := range r.Where {
		b.places = b.slots.ofPair(&r.Where[i].Value)
		c, err := b.pair(q.Type, p)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	for i, f := range r.Filter {
		b.places = b.slots.ofFilter(&r.Filter[i])
		parsed, err := token.ParseFilter(f.Text)
		if err != nil {
			return shift(err, f)
		}
		c, err := b.cond(q.Type, parsed)
		if err != nil {
			return shift(err, f)
		}
		all = append(all, c)
	}
	q.Filter = conjunction(all)
	return nil
}

func conjunction(all []Cond) *Cond {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return &all[0]
	}
	return &Cond{Op: token.And, Kids: all}
}

// pair binds one entry of the key where: the attribute must equal the value.
func (b *binder) pair(on *meta.Type, p Pair) (Cond, error) {
	t := token.Term{Test: token.Eq, Values: []token.Value{{Text: p.Value.Text}}}
	if name, ok := strings.CutPrefix(p.Value.Text, "$"); ok {
		if _, known := b.with[name]; known {
			t.Values[0] = token.Value{Kind: token.Var, Text: name}
		}
	}
	var err error
	if t.Path, err = token.Parse(p.Token.Text); err != nil {
		return Cond{}, token.BadFilter(p.Token.Text+"='"+p.Value.Text+"'", p.Value.At, err)
	}
	c, err := b.cond(on, token.Filter{Term: t})
	return c, fault.Placed(err, p.Value.At)
}

// order binds the key sort. A relation is sorted by the attribute that orderAttr returns.
func (b *binder) order(q *Bound, r Request) error {
	for _, t := range r.Sort {
		terms, err := token.ParseSort(t.Text)
		if err != nil {
			return b.param("SORT", shift(err, t))
		}
		for _, s := range terms {
			p, err := b.path(q.Type, s.Path)
			if err == nil && p.Many() {
				err = badToken(s.Path.At, s.Path.String(), "it has more than one value to sort by")
			}
			if err != nil {
				return b.param("SORT", shift(err, t))
			}
			if p.IsRelation() {
				p.Leaf.Attr = orderAttr(p.To())
			}
			if len(q.Sort) == MaxColumns {
				return tooMany(t.At, "terms to sort by", MaxColumns)
			}
			q.Sort = append(q.Sort, BoundSort{Path: p, Desc: s.Desc})
		}
	}
	return nil
}

// orderAttr returns the attribute by which assets of a type are sorted. It is the attribute that
// t.OrderBy names, if this attribute has a single value and is no relation. Otherwise it is the id.
func orderAttr(t *meta.Type) *meta.Attr {
	if a, ok := t.Attr(t.OrderBy); ok && a.Kind != meta.Relation && !a.Multi {
		return a
	}
	a, _ := t.Attr("Key")
	return a
}

// token parses and binds one token of the client.
func (b *binder) token(on *meta.Type, t Text) (Path, error) {
	parsed, err := token.Parse(t.Text)
	if err != nil {
		return Path{}, shift(err, t)
	}
	p, err := b.path(on, parsed)
	return p, shift(err, t)
}

// param adds the name of the URL parameter to the message of err, if the request is in the rest-1
// form. Otherwise it returns err unchanged.
func (b *binder) param(name string, err error) error {
	if b.rest {
		return inParam(name, err)
	}
	return err
}
