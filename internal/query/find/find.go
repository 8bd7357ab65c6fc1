package find

import (
	"context"
	"time"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/blob"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/processes"
)

// Finder runs queries. It is safe for concurrent use. Its only state is the cache of plans.
type Finder struct {
	// MaxAnswer is the maximum number of bytes of one answer; 0: no limit.
	MaxAnswer int64
	// Contents holds the bytes of attachments and images.
	Contents *blob.Store
	// References is true if answers show contents as references (package blob).
	References bool
	// Slowest records the slowest queries; nil: they are not recorded.
	Slowest *processes.Slowest

	d       *db.DB
	m       *meta.Model
	noRead  []int64 // stored ids of the roles that allow no reading
	role    *meta.Type
	byRole  *meta.Attr // Member.DefaultRole
	out     *output    // state of the current answer; nil: each query has its own answer, returned whole
	plans   *planCache
	metrics *metrics

	maxBelow int64 // number of bytes that the branches of rows may take together, except those of a single row
}

// New returns a Finder for a database and the model of its rows.
func New(d *db.DB, m *meta.Model) *Finder {
	f := &Finder{Contents: blob.New(d, blob.Options{}), d: d, metrics: newMetrics(), maxBelow: maxBelow}
	return f.With(m)
}

// With returns a Finder for another model of the same database. The new Finder has its own plans.
// It shares the settings and metrics of f.
func (f *Finder) With(m *meta.Model) *Finder {
	f = &Finder{
		MaxAnswer: f.MaxAnswer, Contents: f.Contents, References: f.References, Slowest: f.Slowest,
		d: f.d, m: m, plans: newPlanCache(), metrics: f.metrics, maxBelow: f.maxBelow,
	}
	if role, ok := m.Type("Role"); ok {
		f.noRead, f.role = auth.RolesWithoutRead(role), role
	}
	if member, ok := m.Type("Member"); ok {
		f.byRole, _ = member.Attr("DefaultRole")
	}
	return f
}

// On returns a Finder that reads from d, a view of the same database, if a query has no Querier. It
// shares everything else with f.
func (f *Finder) On(d *db.DB) *Finder {
	other := *f
	other.d = d
	return &other
}

// Rows runs r for the actor who and appends the JSON array of its rows to w.
//
// If q is nil, Rows reads in its own snapshot. If q is a *db.Tx, it must be a snapshot, or the
// writing transaction whose changes the query should see.
// Shape: [{"_oid":"Story:1001","Name":"x","Owners":[{"_oid":"Member:20"}]}]
// Errors: fault.Invalid with the interface's messages; NotFound if r.One is true and there is no
// such asset.
func (f *Finder) Rows(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, w []byte) ([]byte, error) {
	w, _, err := f.Answer(ctx, q, who, r, w)
	return w, err
}

// rows appends the JSON array of the rows.
func (x *executor) rows(ctx context.Context, w []byte) ([]byte, error) {
	e := encode.Rows{Model: x.f.m, Moments: x.moments}
	if len(x.plan.Groups) > 0 {
		return x.grouped(ctx, e, w)
	}
	e.Sink = x.sink(ctx)
	w, err := x.list(ctx, append(w, '['), e.Sink, ",", e.Row)
	return append(w, ']'), err
}

// Assets runs r for the actor who and appends the answer of the data path to w. The answer is an
// Assets collection; with r.One a single Asset; with r.Plain one Attribute or Relation of this
// asset; with r.History a History collection of versions.
// Errors: as Rows.
func (f *Finder) Assets(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, form encode.Form, w []byte) ([]byte, error) {
	start := len(w)
	err := f.execute(ctx, q, who, r, func(ctx context.Context, x *executor) error {
		w = w[:start]
		sink := x.sink(ctx)
		form.Moments = form.Moments || x.moments
		e := encode.NewAssets(form, f.m, sink)
		if r.One && !r.History {
			w = e.Begin(w)
			return x.each(ctx, func(s *encode.Set, row int32) error {
				if r.Plain {
					w = e.Attribute(w, s, row, s.Body.Columns[0])
				} else {
					w = e.Asset(w, s, row)
				}
				return sink.Err()
			})
		}
		var err error
		w, err = x.collection(ctx, e, sink, r, w)
		return err
	})
	return w, err
}

// collection appends an Assets or History collection. The total counts the rows before paging.
func (x *executor) collection(ctx context.Context, e encode.Assets, sink *encode.Sink, r query.Request, w []byte) ([]byte, error) {
	c := encode.Collection{History: r.History, Page: query.Page{Size: query.WholePage}}
	if p := x.plan.Page; p != nil {
		c.Page = *p
	}
	var err error
	if c.Total, err = x.total(ctx); err != nil {
		return w, err
	}
	if c.Total == 0 && r.One && r.AsOf.Text == "" && len(r.Filter) == 0 && r.Find == "" {
		return w, fault.NotFoundf("Not Found")
	}
	w, err = x.list(ctx, e.Open(w, c), sink, e.Separator(), e.Asset)
	return e.Close(w, c), err
}

// IDs runs r for the actor who and returns the Oids of its rows in order.
// Errors: as Rows.
func (f *Finder) IDs(ctx context.Context, q db.Querier, who auth.Actor, r query.Request) ([]oid.OID, error) {
	r.Select, r.Basic = nil, false
	var all []oid.OID
	err := f.execute(ctx, q, who, r, func(ctx context.Context, x *executor) error {
		s, err := x.read(ctx, x.w.IDs(x.plan), &query.Body{}, query.CellMoment+1)
		if err != nil {
			return err
		}
		if x.hasMore(s.Len()) {
			s.Truncate(int(x.plan.Page.Size))
		}
		all = make([]oid.OID, 0, s.Len())
		for i := range s.Len() {
			all = append(all, f.oid(s, int32(i), x.moments))
		}
		x.handed += len(all)
		return nil
	})
	return all, err
}

// oid returns the Oid of a row.
func (f *Finder) oid(s *encode.Set, row int32, moments bool) oid.OID {
	t, ok := f.m.TypeByCode(int(s.Cell(row, query.CellType).N))
	if !ok {
		return oid.OID{}
	}
	o := oid.OID{Type: t.Name, ID: t.Shown(s.ID(row))}
	if moments {
		o.Moment = s.Cell(row, query.CellMoment).N
	}
	return o
}

// execute prepares r and calls do. It may call do a second time; do must then start over. If q is
// nil, execute reads in a snapshot, or without a transaction if one statement is enough.
//
// A query that has waited for a write is not counted or recorded as slow, because its time includes
// the time of the write.
func (f *Finder) execute(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, do func(context.Context, *executor) error) error {
	began := time.Now()
	p, err := f.prepare(r, readerOf(who))
	if err != nil {
		return err
	}
	p.wantsTotal = r.Total || r.Rest && (!r.One || r.History)
	since(f.metrics.compile, began)
	behind := db.Waits(q)
	var seen effort
	err = f.read(db.WithMember(ctx, who.Member), q, who, r, p, func(ctx context.Context, x *executor) error {
		defer func() { seen.add(x) }()
		return x.orGone(&r, do(ctx, x))
	})
	if !behind {
		f.noteSlow(&r, began, seen, err)
	}
	return err
}

// read calls do on q. If q is nil, it chooses connections for quick or for long reads.
func (f *Finder) read(ctx context.Context, q db.Querier, who auth.Actor, r query.Request, p prepared, do func(context.Context, *executor) error) error {
	read := func(q db.Querier) error { return f.executeIn(ctx, q, who, p, do) }
	slow := p.cached.slow(time.Now())
	switch {
	case q != nil:
		return read(q)
	case slow && p.single(r):
		return f.d.OneLong(ctx, read)
	case slow:
		return f.d.ReadLong(ctx, func(tx *db.Tx) error { return read(tx) })
	case p.single(r):
		return f.d.One(ctx, read)
	}
	return f.d.Read(ctx, func(tx *db.Tx) error { return read(tx) })
}

// executeIn executes p on q. If p needs them, it first reads the moment of an instant and the
// horizon of history, and runs the lookups of the plan.
func (f *Finder) executeIn(ctx context.Context, q db.Querier, who auth.Actor, p prepared, do func(context.Context, *executor) error) (err error) {
	began := time.Now()
	if !db.Waits(q) {
		defer since(f.metrics.read, began)
	}
	if p.cached.slow(began) {
		if err := db.RequireLong(q); err != nil {
			return err
		}
	}
	h, err := p.at(ctx, q, readerOf(who))
	if err != nil {
		return err
	}
	x := f.newExecutor(ctx, q, who, p, h)
	defer x.sets.release()
	defer x.contents.release()
	if err = x.runLookups(ctx); err == nil {
		x.way, x.counts = p.wayOf(), p.counts()
		err = do(ctx, x)
	}
	if err != nil {
		x.answer.release()
	}
	x.noteDuration(began, err)
	return err
}

func (f *Finder) newExecutor(ctx context.Context, q db.Querier, who auth.Actor, p prepared, h history.Horizon) *executor {
	x := &executor{f: f, q: q, prepared: p, w: f.writer(who), out: f.out, horizon: h}
	x.w.Horizon = h.Moment
	if x.out == nil {
		x.out = &output{limit: f.MaxAnswer}
	}
	x.sets.hold = memory.From(ctx)
	x.answer.hold, x.contents.hold = x.sets.hold, x.sets.hold
	return x
}

func readerOf(who auth.Actor) query.Reader {
	return query.Reader{All: who.All, Bounded: who.Bounds.LimitsReading()}
}

func (f *Finder) writer(who auth.Actor) sqlgen.Writer {
	visibility := sqlgen.Visibility{
		Member: who.Member, All: who.All, Scopes: who.Scopes, NoRead: f.noRead,
		Roles: who.Roles, System: who.System, Held: who.Held, Role: f.role, DefaultRole: f.byRole,
		Members: who.Members, AllMembers: who.AllMembers(), At: who.At,
	}
	if b := who.Bounds; b != nil {
		visibility.Within, visibility.AllWithin, visibility.Types = b.Projects, who.AllWithin, b.Types
	}
	if h := who.Hidden; h != nil {
		visibility.Hidden = &sqlgen.Hidden{Now: h.Now, Ever: h.Ever}
	}
	return sqlgen.Writer{Dialect: f.d.Dialect, Visibility: visibility}
}
