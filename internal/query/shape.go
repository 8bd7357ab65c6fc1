package query

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// Shape is a request without its values. One plan serves all requests that differ only in
// these values.
//
// The values are: the number of an Oid in the key from, the values in the key where, the quoted
// texts of filters, and the values of variables. Everything else is part of the key, unchanged.
type Shape struct {
	Key    []byte   // equal for requests of one shape, different for all others
	id     int64    // id of the asset that the key from names
	moment int64    // moment of the version of that asset
	values []string // the other values, in order
}

// MaxShape is the maximum number of bytes of a key. Plans of requests with longer keys are not
// cached. Plans of requests with very many values are not cached either. A request with another
// number of values has another shape, so such a plan would rarely be used again.
const MaxShape = 4 << 10

// ShapeOf returns the shape of r. by is the member who reads. ShapeOf returns false
// if the plan of r cannot be reused: r is too long or has too many values, has a page cursor, reads
// as of an instant, has aliases, or is restricted to some ids.
func ShapeOf(r Request, by Reader) (Shape, bool) {
	if r.Page != nil && r.Page.After != nil || r.AsOf.Text != "" && r.AsOf.Text != AllVersions || r.Alias != nil || r.Among != nil {
		return Shape{}, false
	}
	s := shaper{key: make([]byte, 0, 256)}
	s.flags(by.All, by.Bounded)
	if o, err := oid.Parse(r.From.Text); err == nil && !o.IsNull() {
		s.id, s.moment = o.ID, o.Moment
		s.flags(true, strings.Count(r.From.Text, ":") > 1)
		s.text(o.Type)
	} else {
		s.flags(false)
		s.text(r.From.Text)
	}
	s.request(&r)
	return Shape{Key: s.key, id: s.id, moment: s.moment, values: s.values}, len(s.key) <= MaxShape && len(s.values) <= maxListed
}

// shaper writes the key of a shape. It writes the length of every text and list before it, so that
// different requests cannot have the same key by accident.
type shaper struct {
	key        []byte
	id, moment int64
	values     []string
	first      map[*Text]int  // index of the first value of each text; nil: not needed
	with       map[string]int // index of the first value of each variable; nil: not needed
}

func (s *shaper) number(n int) { s.key = binary.AppendUvarint(s.key, uint64(n)) }

func (s *shaper) text(t string) {
	s.number(len(t))
	s.key = append(s.key, t...)
}

func (s *shaper) texts(list []Text) {
	s.number(len(list))
	for _, t := range list {
		s.text(t.Text)
	}
}

func (s *shaper) flags(list ...bool) {
	for _, f := range list {
		if f {
			s.key = append(s.key, 1)
		} else {
			s.key = append(s.key, 0)
		}
	}
}

// request writes all parts of r except From. It leaves out the values of Page, Total and Explain,
// because a plan does not depend on them. A nested select has none of these.
func (s *shaper) request(r *Request) {
	s.flags(r.Basic, r.One, r.History, r.Plain, r.Momented, r.Rest, r.Page != nil)
	s.text(r.AsOf.Text)
	s.text(r.Find)
	s.texts(r.FindIn)
	s.texts(r.Sort)
	s.number(len(r.Select))
	for _, item := range r.Select {
		s.flags(item.Sub != nil)
		if item.Sub == nil {
			s.text(item.Text.Text)
			continue
		}
		s.text(item.Sub.From.Text)
		s.request(item.Sub)
	}
	s.number(len(r.Group))
	for i := range r.Group {
		s.text(r.Group[i].From.Text)
		s.request(&r.Group[i])
	}
	s.number(len(r.Where))
	for i := range r.Where {
		s.pair(&r.Where[i])
	}
	s.number(len(r.Filter))
	for i := range r.Filter {
		s.filter(&r.Filter[i])
	}
	s.variables(r.With)
}

// pair writes one entry of the key where. A value that may name a variable becomes part of the key.
func (s *shaper) pair(p *Pair) {
	s.text(p.Token.Text)
	isVar := strings.HasPrefix(p.Value.Text, "$")
	s.flags(isVar)
	if isVar {
		s.text(p.Value.Text)
		return
	}
	s.mark(&p.Value)
	s.values = append(s.values, p.Value.Text)
}

// filter writes a filter without its quoted texts, which are values. Nothing else in a filter has
// quotes.
func (s *shaper) filter(t *Text) {
	s.mark(t)
	rest := t.Text
	for _, q := range quotes(t.Text) {
		s.flags(true)
		s.text(t.Text[len(t.Text)-len(rest) : q.at])
		s.values = append(s.values, q.text)
		rest = t.Text[q.end:]
	}
	s.flags(false)
	s.text(rest)
}

// quote is a text in quotes.
type quote struct {
	text    string
	at, end int
}

func quotes(text string) []quote {
	var list []quote
	for i := 0; i < len(text); i++ {
		if text[i] != '\'' && text[i] != '"' {
			continue
		}
		q := quote{at: i}
		if q.text, q.end = token.Quoted(text, i); q.end < 0 {
			break
		}
		list = append(list, q)
		i = q.end - 1
	}
	return list
}

// variables writes the names of variables and the number of values of each variable, in the order
// in which Bind reads them.
func (s *shaper) variables(with map[string][]string) {
	s.number(len(with))
	if len(with) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		s.text(name)
		s.number(len(with[name]))
		if s.with != nil {
			s.with[strings.TrimPrefix(name, "$")] = len(s.values)
		}
		s.values = append(s.values, with[name]...)
	}
}

func (s *shaper) mark(t *Text) {
	if s.first != nil {
		s.first[t] = len(s.values)
	}
}

// slots records how the values of a request are used while the request is bound for all requests of
// its shape. The maps first and with give the index of the first value of each text and of each
// variable. A nil *slots records nothing.
type slots struct {
	first map[*Text]int
	with  map[string]int
	uses  []use
}

// use is one value after its conversion to the type of one comparison.
type use struct {
	value int // index into the values of the shape
	path  Path
	test  token.Test
	was   Value
	free  bool // another value of the same kind may replace it
}

func (s *slots) ofPair(t *Text) map[int]int {
	if s == nil {
		return nil
	}
	if n, ok := s.first[t]; ok {
		return map[int]int{0: n} // in the key where, a value always has the byte offset 0
	}
	return nil
}

func (s *slots) ofFilter(t *Text) map[int]int {
	if s == nil {
		return nil
	}
	places := map[int]int{}
	for i, q := range quotes(t.Text) {
		places[q.at] = s.first[t] + i
	}
	return places
}

// slotOf records the use of a value and returns its slot. It returns 0 if the value must be the
// same in all requests that share the plan. If v is a variable, nth is the index of the value in
// this variable. ordered is true if several values are compared by their order: the plan then has
// only the value that decides, see deciding.
func (b *binder) slotOf(p Path, test token.Test, v token.Value, nth int, bound Value, ordered bool) Slot {
	if b.slots == nil || b.derivedDepth > 0 {
		return 0
	}
	n, ok := b.places[v.At]
	if v.Kind == token.Var {
		n, ok = b.slots.with[v.Text]
		n += nth
	}
	if !ok || v.Kind == token.Context {
		return 0
	}
	u := use{value: n, path: p, test: test, was: bound, free: !ordered && isFree(p, bound)}
	b.slots.uses = append(b.slots.uses, u)
	if !u.free {
		return 0
	}
	return slotFirst + Slot(len(b.slots.uses)-1)
}

// isFree reports whether the plan is the same for all values of the kind of v. The plan depends on
// the value if the value is compared with an aggregate or with a number that is always whole, if
// the path follows a hierarchy, or if the value does not become an argument of the statement.
func isFree(p Path, v Value) bool {
	switch v.Kind {
	case TextOf, NumOf, IntOf, RefOf:
		return p.Agg == None && !p.isWhole() && !slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Attr.Place.Kind == meta.Closure })
	}
	return false
}
