package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// Slot is the place of an argument in a plan that several requests share. Each request has a
// different argument there. A Slot is an index into the result of Fill.
type Slot int

// The slots of an Oid in the key from. slotFirst is the first slot of all other values.
const (
	_ Slot = iota
	slotID
	slotMoment
	slotFirst
)

// argOf returns v as an argument. In a shared plan it returns the slot s instead.
func (q Bound) argOf(v int64, s Slot) Arg {
	if q.shared {
		return Arg{s}
	}
	return Arg{v}
}

// Shared is a plan for all requests of one shape. It is read-only.
type Shared struct {
	Plan *Plan // a plan for current rows or for versions (see Mode); its arguments may be slots
	Mode Mode
	One  bool // true: the query is about one asset
	// Once is true if the plan can only be used for the request from which it was made.
	Once bool

	m    *meta.Model
	from *meta.Type // the type of the asset that the query is about; nil unless One
	uses []use
}

// NewShared binds and plans r for all requests of its shape.
// Errors: those of Bind and NewPlan.
func NewShared(m *meta.Model, r Request, by Reader) (*Shared, error) {
	s := shaper{first: map[*Text]int{}, with: map[string]int{}}
	s.request(&r)
	taken := &slots{first: s.first, with: s.with}
	b, err := bind(m, r, taken)
	if err != nil {
		return nil, err
	}
	sh := &Shared{m: m, One: b.ID != nil, uses: taken.uses}
	if b.Moment != nil || b.AsOf.Text == AllVersions || b.History {
		sh.Mode = Version
	}
	if o, err := oid.Parse(r.From.Text); err == nil {
		sh.from, _ = m.Type(o.Type)
	}
	if sh.Plan, err = NewPlan(b, Options{Reader: by, When: When{Mode: sh.Mode}}); err != nil {
		return nil, err
	}
	sh.Once = len(sh.Plan.Lookups) > 0 || !sh.usesAll(len(s.values), r.With)
	return sh, nil
}

// usesAll reports whether every value of the request is used in a known place. The parameter values
// is the number of all values. Values of variables are the last of them. They do not count, because
// a request need not use its variables.
func (sh *Shared) usesAll(values int, with map[string][]string) bool {
	for _, list := range with {
		values -= len(list)
	}
	used := map[int]bool{}
	for _, u := range sh.uses {
		if u.value < values {
			used[u.value] = true
		}
	}
	return len(used) == values
}

// Fill converts the values of another request of the shape to their types and returns them by slot.
// It returns false if that request needs its own plan. This is so if a value is invalid or has
// another kind, or if the plan depends on a value that is different.
func (sh *Shared) Fill(s Shape) ([]any, bool) {
	args := make([]any, slotFirst+Slot(len(sh.uses)))
	if sh.from != nil {
		args[slotID], args[slotMoment] = sh.from.Stored(s.id), s.moment
	}
	b := binder{m: sh.m}
	for i, u := range sh.uses {
		v, err := b.value(u.path, u.test, token.Value{Text: s.values[u.value]})
		if err != nil || v.Kind != u.was.Kind || v.Type != u.was.Type || !u.free && v != u.was || !plansAlike(u.path, u.test, v, u.was) {
			return nil, false
		}
		args[slotFirst+Slot(i)] = v.plain()
	}
	return args, true
}
