package find

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxPlans is how many plans are cached. A plan needs some ten kilobytes.
const maxPlans = 500

// planCache holds the plans of the shapes used last.
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

// slowFor is how long queries of a shape count as slow.
const slowFor = 5 * time.Minute

// slow reports whether queries of the shape are known to be slow. It is false for nil, a query
// without a cached plan.
func (c *cachedPlan) slow(now time.Time) bool {
	return c != nil && now.UnixNano() < c.slowUntil.Load()
}

// noteDuration stores whether queries of this shape are slow. They are slow if they came near
// the limit of quick queries, or if their answer is too large for a quick query.
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

// cachedStatement is the statement of a page, with the values that it depends on.
type cachedStatement struct {
	visibility sqlgen.Visibility
	horizon    int64
	page       query.Page
	total      bool
	statement  sqlgen.Statement
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

// put stores a plan in place of one of the same shape. If there are too many, it removes the
// one least recently used.
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
	moments    bool        // some rows may not be current
	one        bool        // the query is about one asset
	wantsTotal bool        // the answer has the number of all rows

	bound   query.Bound // until the moment of an instant is known
	instant int64
}

// prepare binds and plans r, or uses the cached plan of its shape. A request for an instant
// has no plan until the moment is read.
func (f *Finder) prepare(r query.Request, all bool) (prepared, error) {
	shape, ok := query.ShapeOf(r, all)
	if !ok {
		return f.bind(r, all)
	}
	c := f.plans.get(shape.Key)
	if c != nil {
		if args, ok := c.Fill(shape); ok {
			f.metrics.plans.cached.Inc()
			return c.prepared(r, args), nil
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
	c = &cachedPlan{key: string(shape.Key), Shared: shared}
	f.plans.put(c)
	return c.prepared(r, args), nil
}

// prepared returns r with the cached plan and the page of r. The page is not part of the
// shape.
func (c *cachedPlan) prepared(r query.Request, args []any) prepared {
	plan := *c.Plan
	plan.Page = r.Page
	return prepared{plan: &plan, cached: c, args: args, moments: c.Mode != query.Now, one: c.One}
}

// bind prepares r with a plan that is not cached.
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
		p.bound, p.instant = b, at
		return p, nil
	}
	p.plan, err = query.NewPlan(b, query.Options{All: all, When: when})
	return p, err
}

// single reports whether one statement answers r. Then it needs no snapshot.
func (p prepared) single(r query.Request) bool {
	switch {
	case p.plan == nil || p.plan.Past || len(p.plan.Lookups) > 0 || len(p.plan.Branches) > 0 && !p.plan.Together || r.Explain:
		return false
	case p.wantsTotal:
		return p.countsToo()
	}
	return p.one || isSmall(p.plan.Page)
}

// countsToo reports whether the statement of the page counts all rows, too.
func (p prepared) countsToo() bool {
	return p.wantsTotal && !p.one && isSmall(p.plan.Page) && len(p.plan.Groups) == 0
}

// page returns the statement of a page with all its cells. It is cached for requests of the
// same shape, page and visibility.
func (x *executor) page() sqlgen.Statement {
	c, page := x.cached, query.Page{}
	if x.plan.Page != nil {
		page = *x.plan.Page
	}
	if c == nil {
		return x.printPage()
	}
	if s := c.page.Load(); s != nil && s.page == page && s.total == x.counts && s.horizon == x.w.Horizon && sameVisibility(s.visibility, x.w.Visibility) {
		return s.statement
	}
	st := x.printPage()
	c.page.Store(&cachedStatement{x.w.Visibility, x.w.Horizon, page, x.counts, st})
	return st
}

func sameVisibility(a, b sqlgen.Visibility) bool {
	return a.Member == b.Member && a.All == b.All && slices.Equal(a.Scopes, b.Scopes) && slices.Equal(a.NoRead, b.NoRead) &&
		a.System == b.System && a.Held == b.Held && slices.Equal(a.Roles, b.Roles) &&
		a.AllMembers == b.AllMembers && a.At == b.At && (a.Members == nil) == (b.Members == nil) && slices.Equal(a.Members, b.Members) &&
		sameHidden(a.Hidden, b.Hidden)
}

func sameHidden(a, b *sqlgen.Hidden) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Ever == b.Ever && slices.Equal(a.Now, b.Now)
}

// printPage prints the statement of a page.
func (x *executor) printPage() sqlgen.Statement {
	if x.plan.Together {
		return x.w.Together(x.plan)
	}
	if x.plan.IDsFirst && !x.one && x.plan.Page != nil && x.lookupsDone() {
		return x.w.IDsFirst(x.plan, x.counts)
	}
	return x.w.Page(x.plan, x.counts)
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
