package find

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/sqlgen"
)

// maxPlans is how many plans are kept. A plan takes some ten kilobytes.
const maxPlans = 500

// plans keeps the plans of the shapes asked last.
type plans struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // of a *kept
	order *list.List               // asked last first
}

// kept is a plan with the statement it was last written as. Plans say what is
// read and know no member; a statement is written for one.
type kept struct {
	key string
	*query.Shared
	page      atomic.Pointer[written]
	slowUntil atomic.Int64 // Unix nanoseconds; 0: it is not known to last
}

// slowFor is how long it is remembered that queries of a shape last.
const slowFor = 5 * time.Minute

// slow reports whether queries of the shape are known to last. A nil kept, of a
// query without one, knows nothing.
func (k *kept) slow(now time.Time) bool { return k != nil && now.UnixNano() < k.slowUntil.Load() }

// remember notes whether queries of this shape last: those that were stopped as
// quick ones, or whose answer is too large for that.
func (run *run) remember(began time.Time, err error) {
	if run.kept == nil {
		return
	}
	switch took := time.Since(began); {
	case run.large, err != nil && db.Quick(run.q) && took > db.QuickLimit*3/4:
		run.kept.slowUntil.Store(began.Add(slowFor).UnixNano())
	case err == nil && took < db.QuickLimit/4:
		run.kept.slowUntil.Store(0)
	}
}

// written is the statement of a page, and all that it was made of.
type written struct {
	visibility sqlgen.Visibility
	page       query.Page
	statement  sqlgen.Statement
}

func newPlans() *plans { return &plans{byKey: map[string]*list.Element{}, order: list.New()} }

func (p *plans) get(key []byte) *kept {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byKey[string(key)]
	if !ok {
		return nil
	}
	p.order.MoveToFront(e)
	return e.Value.(*kept)
}

// put keeps a plan in place of one of the same shape and, when there are too
// many, of the one that was not asked for longest.
func (p *plans) put(k *kept) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byKey[k.key]; ok {
		e.Value = k
		p.order.MoveToFront(e)
		return
	}
	p.byKey[k.key] = p.order.PushFront(k)
	if p.order.Len() > maxPlans {
		delete(p.byKey, p.order.Remove(p.order.Back()).(*kept).key)
	}
}

// prepared is a request ready to be carried out.
type prepared struct {
	plan    *query.Plan
	kept    *kept // where plan comes from; nil when it is for this request alone
	args    []any // what stands in the slots of plan
	moments bool  // rows are not, or not only, those that are current
	one     bool  // the query is about one asset

	bound query.Bound // while plan waits for the moment of an instant
	at    int64       // the instant
}

// prepare binds and plans r, or finds the plan of a request of its shape. What
// asks for an instant stays without a plan until its moment is read.
func (f *Finder) prepare(r query.Request, all bool) (prepared, error) {
	shape, ok := query.ShapeOf(r, all)
	if !ok {
		return f.bind(r, all)
	}
	k := f.plans.get(shape.Key)
	if k != nil {
		if args, ok := k.Fill(shape); ok {
			f.metrics.plans.kept.Inc()
			return k.prepared(r, args), nil
		}
	}
	shared, err := query.NewShared(f.m, r, all)
	if err != nil {
		return prepared{}, err
	}
	args, ok := shared.Fill(shape)
	if !ok || shared.Once {
		return f.bind(r, all)
	}
	f.metrics.plans.made.Inc()
	k = &kept{key: string(shape.Key), Shared: shared}
	f.plans.put(k)
	return k.prepared(r, args), nil
}

// prepared is what k says about r: the plan but for the page, which is no part
// of it.
func (k *kept) prepared(r query.Request, args []any) prepared {
	plan := *k.Plan
	plan.Page = r.Page
	return prepared{plan: &plan, kept: k, args: args, moments: k.Mode != query.Now, one: k.One}
}

// bind prepares r for itself alone.
func (f *Finder) bind(r query.Request, all bool) (p prepared, err error) {
	f.metrics.plans.single.Inc()
	b, err := query.Bind(f.m, r)
	if err != nil {
		return p, err
	}
	when, at, err := mode(b)
	if err != nil {
		return p, err
	}
	p = prepared{moments: when.Mode != query.Now, one: b.ID != nil}
	if when.Mode == query.At {
		p.bound, p.at = b, at
		return p, nil
	}
	p.plan, err = query.NewPlan(b, query.Options{All: all, When: when})
	return p, err
}

// single reports whether one statement answers r, so that it needs no snapshot.
func (p prepared) single(r query.Request) bool {
	if p.plan == nil || len(p.plan.Lookups) > 0 || len(p.plan.Branches) > 0 || r.Total || r.Explain {
		return false
	}
	if r.Rest {
		return r.One && !r.History
	}
	return p.one || isSmall(p.plan.Page)
}

// page is the statement of a page with all its cells. It is written once for
// all requests of a shape by who sees the same and asks for the same page.
func (run *run) page() sqlgen.Statement {
	k, page := run.kept, query.Page{}
	if run.plan.Page != nil {
		page = *run.plan.Page
	}
	if k != nil {
		if w := k.page.Load(); w != nil && w.page == page && sameVisibility(w.visibility, run.w.Visibility) {
			return w.statement
		}
	}
	st := run.write()
	if k != nil {
		k.page.Store(&written{run.w.Visibility, page, st})
	}
	return st
}

func sameVisibility(a, b sqlgen.Visibility) bool {
	return a.Member == b.Member && a.All == b.All && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.NoRead, b.NoRead) &&
		sameHidden(a.Hidden, b.Hidden)
}

func sameHidden(a, b *sqlgen.Hidden) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Ever == b.Ever && slices.Equal(a.Now, b.Now)
}

// write writes the statement of a page.
func (run *run) write() sqlgen.Statement {
	if run.plan.IDsFirst && !run.one && run.plan.Page != nil && run.looked() {
		return run.w.IDsFirst(run.plan)
	}
	return run.w.Page(run.plan)
}

// filled are the arguments of a statement with the request's own in the slots.
func (run *run) filled(args []any) []any {
	at := slices.IndexFunc(args, isSlot)
	if at < 0 {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args[at:] {
		if s, ok := a.(query.Slot); ok {
			args[at+i] = run.args[s]
		}
	}
	return args
}

func isSlot(a any) bool {
	_, ok := a.(query.Slot)
	return ok
}
