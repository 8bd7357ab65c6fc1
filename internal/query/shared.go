package query

import (
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query/token"
)

// Slot is the place of an argument in a shared plan. Each request has another argument there. A Slot
// is an index into the result of Fill.
type Slot int

// The first slots.
const (
	_ Slot = iota
	slotID
	slotMoment
	slotFirst
)

// argOf returns an argument, or in a shared plan its slot.
func (q Bound) argOf(v int64, s Slot) Arg {
	if q.shared {
		return Arg{s}
	}
	return Arg{v}
}

// Shared is a plan for all requests of one shape. It is read-only.
type Shared struct {
	Plan *Plan // of the current rows or of versions; its arguments may be slots
	Mode Mode
	One  bool // the query is about one asset
	// Once means that the plan only serves the request it was made for.
	Once bool

	m    *meta.Model
	from *meta.Type // the type of the asset that the query is about; nil unless One
	uses []use
}

// NewShared binds and plans r for all requests of its shape.
// Errors: those of Bind and NewPlan.
func NewShared(m *meta.Model, r Request, all bool) (*Shared, error) {
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
	if sh.Plan, err = NewPlan(b, Options{All: all, When: When{Mode: sh.Mode}}); err != nil {
		return nil, err
	}
	sh.Once = len(sh.Plan.Lookups) > 0 || !sh.usesAll(len(s.values), r.With)
	return sh, nil
}

// usesAll reports whether the use of every value is known. Values of variables are last and do
// not count, since a variable may be unused.
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

// Fill types the values of another request of the shape and returns them by slot. It returns
// false if the request needs its own plan: a value has another kind, is invalid, or planning
// reads it and it is different.
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
