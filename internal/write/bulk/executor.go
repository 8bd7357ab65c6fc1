package bulk

import (
	"context"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/document"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/write/asset"
)

// executor executes steps strictly in order. The field pending collects the steps that do not query
// the database. executor passes them to the write engine as one batch.
type executor struct {
	*Engine
	s       *asset.Session // nil if the request only reads
	q       db.Querier
	who     auth.Actor
	res     *result
	aliases map[string]bool
	sealed  map[*document.Node]string
	affects map[int]*asset.Affected // key: index of the command in the payload

	open       *step // last step of the group that has begun but is not complete; nil: none; see begin
	pending    []*step
	commands   []*asset.Command // commands for the pending steps that have not failed
	assetCount int              // number of creates, updates and operations so far
	listed     *listed
	held       int // number of list values in the pending steps
	asked      int // number of queries in the place of values so far

	answered map[subqueryKey][]oid.OID // results of queries in the place of values since the last change
}

// subqueryKey is a query in the place of a value. It is the same for all assets of an update.
type subqueryKey struct {
	node *document.Node
	one  bool // true: only the first result is used
}

// maxPendingValues is the number of list values above which the pending steps are written.
const maxPendingValues = 100_000

// maxAskedByAsset is how many queries in the place of values a request may execute for each asset that it may change.
const maxAskedByAsset = 4

// actor returns the actor for queries. Earlier commands of the request may have changed the
// rights of its member.
func (p *executor) actor() auth.Actor {
	if p.s == nil {
		return p.who
	}
	return p.s.Who()
}

// run executes the projected steps.
func (p *executor) run(ctx context.Context, steps []*step) error {
	p.define(steps)
	for _, s := range steps {
		if err := p.step(ctx, s); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// define passes the aliases of creates to the write engine. A create with a duplicate alias
// fails.
func (p *executor) define(steps []*step) {
	for _, s := range steps {
		if s.kind == kindCreate && s.alias != "" && !p.s.Define(s.alias, s.handle) {
			s.err = aliasTaken(s.alias)
		}
	}
}

func (p *executor) step(ctx context.Context, s *step) error {
	if s.isLeftOut() {
		return nil
	}
	if p.open == nil && s.owner != nil {
		if err := p.begin(ctx, s.whole()); err != nil {
			return err
		}
	}
	err := p.take(ctx, s)
	if p.open == s {
		p.open = nil
	}
	return err
}

// take executes a query or a deferred step. It adds any other step to the pending steps.
func (p *executor) take(ctx context.Context, s *step) error {
	switch {
	case s.err != nil:
		p.pending = append(p.pending, s)
		return nil
	case s.kind == kindQuery:
		return p.query(ctx, s)
	case s.deferred:
		return p.resolveDeferred(ctx, s)
	}
	return p.enqueue(ctx, s)
}

// begin starts a group of steps that succeed or fail together, and that go to the write
// engine in one call. whole is the last step of the group. If the group contains a query as
// a value, the pending steps are written first, so that the query sees their changes.
func (p *executor) begin(ctx context.Context, whole *step) error {
	p.open = whole
	values := whole.node
	if update, ok := values.Get("update"); ok && whole.kind == kindUpdate {
		values = update
	}
	if hasSubquery(values) {
		return p.flush(ctx)
	}
	return nil
}

// enqueue adds a step to the pending steps. If a value of the step is a query, the pending
// steps are written first, so that the query sees their changes.
func (p *executor) enqueue(ctx context.Context, s *step) error {
	if p.assetCount++; p.assetCount > p.MaxAssets {
		return asset.TooManyAssets(p.MaxAssets)
	}
	for _, f := range append(s.fields[:len(s.fields):len(s.fields)], s.args...) {
		if p.open == nil && !f.node.IsScalar() && hasSubquery(f.node) {
			if err := p.flush(ctx); err != nil {
				return err
			}
			break
		}
	}
	c, err := p.build(ctx, s)
	if err != nil {
		if !isCommandFailure(err) {
			return err
		}
		s.err = err
	} else {
		p.commands = append(p.commands, c)
		p.held += c.Listed()
	}
	p.pending = append(p.pending, s)
	if p.open == nil && (len(p.pending) >= asset.MaxBatch || p.held > maxPendingValues) {
		return p.flush(ctx)
	}
	return nil
}

// build returns the command of the write engine for a step. If a value is a query, build replaces
// the value by the Oids that the query finds.
func (p *executor) build(ctx context.Context, s *step) (*asset.Command, error) {
	c := &asset.Command{Type: s.typ, Self: s.handle, Context: s.context, Op: s.op}
	switch s.kind {
	case kindCreate:
		c.Verb = asset.Create
	case kindUpdate:
		c.Verb = asset.Update
	default:
		c.Verb = asset.Operate
	}
	if s.kind != kindCreate {
		c.Type, c.Self = nil, nil
		c.Target = asset.Ref{OID: s.from, Handle: s.handle}
		c.TargetDeleted, c.TargetLive = s.deleted, s.handle == nil && !s.deleted
		c.IfMoment = s.ifMoment
	}
	if s.context.Token != "" && strings.HasPrefix(s.context.Token, "@") {
		c.Context.Handle, _ = p.s.Handle(s.context.Token)
	}
	if s.parent != nil && s.parent.kind == kindUpdate {
		if c.Within = s.parent.command; s.parent.err != nil {
			return nil, oid.Invalid(tokenOf(s.context))
		}
	}
	s.command, c.Affected = c, p.affectedBy(s)
	ask := func(n *document.Node, one bool) ([]asset.Value, error) { return p.subqueryValues(ctx, n, one) }
	var err error
	if c.Changes, err = changes(s, s.fields, ask); err == nil {
		c.Args, err = changes(s, s.args, ask)
	}
	if len(p.sealed) > 0 && err == nil {
		for i, f := range s.fields {
			c.Changes[i].Sealed = p.sealed[f.node]
		}
	}
	return c, err
}

// affectedBy returns the counter that limits how many assets the command of a step changes. It
// returns nil if there is no limit. All steps of the command share the counter. A retry of the
// request starts with new counters.
func (p *executor) affectedBy(s *step) *asset.Affected {
	most := p.res.cfg.maxAffected
	if most == 0 || s.kind == kindCreate {
		return nil
	}
	if p.affects[s.index] == nil {
		if p.affects == nil {
			p.affects = map[int]*asset.Affected{}
		}
		p.affects[s.index] = &asset.Affected{Most: most}
	}
	return p.affects[s.index]
}

func changes(s *step, fields []field, ask subquery) ([]asset.Change, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	all := make([]asset.Change, len(fields))
	scalars := make([]asset.Value, len(fields))
	for i, f := range fields {
		if f.node.IsScalar() {
			scalars[i] = asset.ValueOf(f.node)
			all[i].Name, all[i].Set, all[i].At = f.name, scalars[i:i+1:i+1], f.node.At
			continue
		}
		var err error
		if all[i], err = change(f, s.takesSeveral(f.name), ask); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// flush writes the pending steps and records their outcomes in order.
func (p *executor) flush(ctx context.Context) error {
	if p.held = 0; len(p.pending) == 0 {
		return nil
	}
	p.join()
	var outcomes []asset.Outcome
	if len(p.commands) > 0 {
		p.s.Count(p.assetCount)
		var err error
		if outcomes, err = p.s.Run(ctx, p.commands); err != nil {
			return err
		}
		if slices.ContainsFunc(outcomes, func(o asset.Outcome) bool { return o.Err == nil && !o.Skipped }) {
			p.answered = nil
		}
	}
	for _, s := range p.pending {
		if s.err != nil {
			p.res.fail(s, s.err)
		} else {
			p.record(s, outcomes[0])
			outcomes = outcomes[1:]
		}
		if err := p.res.checkSize(); err != nil {
			return err
		}
	}
	for _, s := range p.pending {
		s.release()
	}
	p.pending, p.commands = p.pending[:0], p.commands[:0]
	return nil
}

// join links each create that was made for a later step to the command of the later step. If the
// later step has failed, the create fails, too.
func (p *executor) join() {
	for _, s := range slices.Backward(p.pending) {
		switch {
		case s.owner == nil || s.err != nil:
		case s.owner.err == nil:
			s.command.For = s.owner.command
		default:
			s.err = oid.Invalid(tokenOf(asset.Ref{Handle: s.owner.handle, OID: s.owner.from}))
			p.commands = slices.DeleteFunc(p.commands, func(c *asset.Command) bool { return c == s.command })
		}
	}
}

func (p *executor) record(s *step, o asset.Outcome) {
	switch {
	case o.Err != nil:
		p.res.fail(s, o.Err)
	case o.Skipped:
	case s.kind == kindCreate:
		p.res.add(&p.res.created, o.OID)
	case s.kind == kindUpdate:
		p.res.add(&p.res.modified, o.OID)
	default:
		p.res.add(&p.res.operated, o.OID)
	}
}

// query writes the pending steps and then answers a query. A query that fails adds no result set
// to the answer.
func (p *executor) query(ctx context.Context, s *step) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	r, err := p.request(s.node)
	var info []byte
	before := len(p.res.rows)
	if err == nil {
		if p.res.queries > 0 {
			p.res.rows = append(p.res.rows, ',')
		}
		err = db.ReadInTurn(ctx, p.q, func(ctx context.Context) (err error) {
			p.res.rows, info, err = p.finder.Answer(ctx, p.q, p.actor(), r, p.res.rows)
			return err
		})
	}
	switch {
	case err == nil:
		p.res.queries++
		p.res.infos = append(p.res.infos, info)
	case isCommandFailure(err):
		p.res.rows = p.res.rows[:before]
		p.res.fail(s, err)
	default:
		return err
	}
	return nil
}

// subqueryValues returns the Oids that a query in the place of a value finds. If the parameter one
// is true, it returns only the first Oid.
// Errors: asset.ErrForm if the parameter one is true and the query finds nothing;
// asset.TooManyAssets; asset.TooManyEdges; asset.TooManyQueries.
func (p *executor) subqueryValues(ctx context.Context, n *document.Node, one bool) ([]asset.Value, error) {
	found, err := p.subquery(ctx, n, one)
	if err != nil {
		return nil, err
	}
	if one && len(found) == 0 {
		return nil, asset.ErrForm
	}
	if len(found) > p.MaxAssets {
		return nil, asset.TooManyAssets(p.MaxAssets)
	}
	if one {
		found = found[:1]
	}
	if err := p.listed.take(1, len(found)); err != nil {
		return nil, err
	}
	all := make([]asset.Value, len(found))
	for i, o := range found {
		all[i] = asset.Value{Kind: asset.Text, Text: o.String()}
	}
	return all, nil
}

// subquery returns what a query in the place of a value finds. The query is not executed again until the request has
// changed something.
// Errors: those of the query; asset.TooManyQueries.
func (p *executor) subquery(ctx context.Context, n *document.Node, one bool) ([]oid.OID, error) {
	key := subqueryKey{n, one}
	if found, ok := p.answered[key]; ok {
		return found, nil
	}
	if p.asked++; p.asked > maxAskedByAsset*p.MaxAssets {
		return nil, asset.TooManyQueries(maxAskedByAsset * p.MaxAssets)
	}
	r, err := p.request(n)
	if err != nil {
		return nil, err
	}
	if one && r.Page == nil {
		r.Page = &query.Page{Size: 1}
	}
	found, err := p.ids(ctx, p.q, p.actor(), r)
	if err != nil {
		return nil, err
	}
	if p.answered == nil {
		p.answered = map[subqueryKey][]oid.OID{}
	}
	p.answered[key] = found
	return found, nil
}

// request parses a query. If the query compares an attribute with an alias of the payload, the
// result has a function with which the finder can resolve the alias.
func (p *executor) request(n *document.Node) (query.Request, error) {
	n, err := p.withFrom(n)
	if err != nil {
		return query.Request{}, err
	}
	r, err := query.FromDoc(n)
	if comparesAlias(n, p.aliases) {
		r.Alias = p.alias
	}
	return r, err
}

// withFrom replaces an alias in the key from by the Oid token of the asset. Errors: fault.Invalid
// if there is no asset for the alias.
func (p *executor) withFrom(n *document.Node) (*document.Node, error) {
	from, ok := n.Get("from")
	if !ok || from.Kind != document.String || !strings.HasPrefix(from.Text, "@") {
		return n, nil
	}
	c := &document.Node{Kind: n.Kind, Keys: n.Keys, Items: slices.Clone(n.Items), At: n.At}
	for i, k := range c.Keys {
		if k != "from" {
			continue
		}
		v := &c.Items[i]
		target := p.alias(v.Text)
		if target == "" {
			return nil, fault.Placed(oid.Invalid(v.Text), v.At)
		}
		v.Text, v.Written = target, &document.Written{} // the token is not in the body: offsets within it are unknown
	}
	return c, nil
}

// alias returns the Oid token of an alias. It returns "" until the asset is created, or if the
// payload does not define the alias.
func (p *executor) alias(name string) string {
	if p.s == nil {
		return ""
	}
	h, ok := p.s.Alias(name)
	if !ok {
		return ""
	}
	return h.OID().String()
}
