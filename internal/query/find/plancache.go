package find

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxPlans is the maximum number of cached plans. A plan needs about ten kilobytes.
const maxPlans = 500

// planCache holds the plans of the most recently used shapes.
type planCache struct {
	mu    sync.Mutex
	byKey map[string]*list.Element // of a *cachedPlan
	order *list.List               // most recently used first
}

// cachedPlan is a plan and the last statement printed from it. A plan does not depend on the
// member who runs the query; a statement does.
type cachedPlan struct {
	key string
	*query.Shared
	page      atomic.Pointer[cachedStatement]
	slowUntil atomic.Int64 // Unix nanoseconds; 0: not known to be slow
}

// slowFor is the time for which queries of a shape count as slow.
const slowFor = 5 * time.Minute

// slow reports whether queries of the shape are known to be slow. It is false for nil, a query
// without a cached plan.
func (c *cachedPlan) slow(now time.Time) bool {
	return c != nil && now.UnixNano() < c.slowUntil.Load()
}

// noteDuration stores whether queries of this shape are slow. They are slow if a query failed near
// the time limit of quick queries, or if its answer is too large for a quick query. They are no
// longer slow if a query took less than a quarter of the limit.
func (x *executor) noteDuration(began time.Time, err error) {
	if x.cached == nil {
		return
	}
	switch took := time.Since(began); {
	case x.large, err != nil && db.Quick(x.q) && took > db.QuickLimit*3/4:
		x.cached.slowUntil.Store(began.Add(slowFor).UnixNano())
	case err == nil && took < db.QuickLimit/4:
		x.cached.slowUntil.Store(0)
	}
}

func newPlanCache() *planCache {
	return &planCache{byKey: map[string]*list.Element{}, order: list.New()}
}

func (p *planCache) get(key []byte) *cachedPlan {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.byKey[string(key)]
	if !ok {
		return nil
	}
	p.order.MoveToFront(e)
	return e.Value.(*cachedPlan)
}

// put stores a plan. It replaces an earlier plan of the same shape. If there are too many plans, it
// removes the plan that was not used for the longest time.
func (p *planCache) put(c *cachedPlan) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.byKey[c.key]; ok {
		e.Value = c
		p.order.MoveToFront(e)
		return
	}
	p.byKey[c.key] = p.order.PushFront(c)
	if p.order.Len() > maxPlans {
		delete(p.byKey, p.order.Remove(p.order.Back()).(*cachedPlan).key)
	}
}

// prepared is a request that is ready to be executed.
type prepared struct {
	plan       *query.Plan
	cached     *cachedPlan // where plan comes from; nil if it is for this request alone
	args       []any       // the values of the slots of plan
	moments    bool        // true: some rows may be old versions
	one        bool        // true: the query is about one asset
	wantsTotal bool        // true: the answer has the number of all rows

	bound   query.Bound // only used until the moment of the instant is known
	instant int64
}

// prepare binds and plans r, or uses the cached plan of its shape. A request for an instant gets
// its plan later, when the moment of the instant is read.
func (f *Finder) prepare(r query.Request, by query.Reader) (prepared, error) {
	shape, ok := query.ShapeOf(r, by)
	if !ok {
		return f.bind(r, by)
	}
	c := f.plans.get(shape.Key)
	if c != nil {
		if args, ok := c.Fill(shape); ok {
			f.metrics.plans.cached.Inc()
			return c.prepared(r, args), nil
		}
	}
	shared, err := query.NewShared(f.m, r, by)
	if err != nil {
		return prepared{}, err
	}
	args, ok := shared.Fill(shape)
	if !ok || shared.Once {
		return f.bind(r, by)
	}
	f.metrics.plans.made.Inc()
	c = &cachedPlan{key: string(shape.Key), Shared: shared}
	f.plans.put(c)
	return c.prepared(r, args), nil
}

// prepared returns r with the cached plan and the page of r, because the page is not part of the
// shape.
func (c *cachedPlan) prepared(r query.Request, args []any) prepared {
	plan := *c.Plan
	plan.Page = r.Page
	return prepared{plan: &plan, cached: c, args: args, moments: c.Mode != query.Now, one: c.One}
}

// bind prepares r with a plan that is not cached.
func (f *Finder) bind(r query.Request, by query.Reader) (p prepared, err error) {
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
		p.bound, p.instant = b, at
		return p, nil
	}
	p.plan, err = query.NewPlan(b, query.Options{Reader: by, When: when})
	return p, err
}

// filled returns the arguments of a statement, with the slots replaced by the values of the
// request.
func (x *executor) filled(args []any) []any {
	at := slices.IndexFunc(args, isSlot)
	if at < 0 {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args[at:] {
		if s, ok := a.(query.Slot); ok {
			args[at+i] = x.args[s]
		}
	}
	return args
}

func isSlot(a any) bool {
	_, ok := a.(query.Slot)
	return ok
}
