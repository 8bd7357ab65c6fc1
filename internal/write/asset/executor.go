package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/oid"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/write/asset/names"
)

// executor executes a batch of commands. It checks and executes each command in memory, and
// then writes all changes. Each attempt has a new executor, so a batch that the database
// refuses can run again.
type executor struct {
	unit
	rules      *rules
	resolver   *resolver
	set        *setter
	operations *operations
	gate       *gate
	defs       *definitions
	target     *row  // the asset that the current command creates or names
	nextID     int64 // the next id that is reserved for a create
}

func (s *Session) newExecutor() *executor {
	u := unit{s: s, loaded: newLoaded(s)}
	u.changes = newChanges(s, u.loaded)
	x := &executor{unit: u, rules: &rules{u}}
	x.resolver = &resolver{unit: u, rules: x.rules, named: map[nameKey]names.Meant{}}
	x.set = &setter{
		unit: u, rules: x.rules, resolver: x.resolver, members: &members{u, x.rules}, ranker: &ranker{u, x.resolver},
	}
	x.gate, x.defs = &gate{u}, &definitions{u}
	x.operations = &operations{unit: u, rules: x.rules, resolver: x.resolver, set: x.set, copier: &copier{u, x.set}}
	return x
}

// execute executes commands in memory and returns their outcomes. It ends after a command that may have
// changed which assets the caller sees, because later commands must read that from the database.
// Errors: those that end the whole request.
func (x *executor) execute(ctx context.Context, commands []*Command) ([]Outcome, error) {
	outcomes := make([]Outcome, len(commands))
	changing := false // true: a command might have changed what the caller sees, but has not
	for i, c := range commands {
		before := len(x.changes.versions)
		o := x.executeOne(ctx, c)
		if o.Err != nil && !isCommands(o.Err) {
			return nil, o.Err
		}
		if err := x.proceed(ctx); err != nil {
			return nil, err
		}
		outcomes[i], c.outcome = o, Outcome{Err: o.Err, Skipped: o.Skipped}
		if x.s.changesSeen(c) {
			if len(x.changes.versions) > before {
				x.s.seenAtOnce = 1
				return outcomes[:i+1], nil
			}
			changing = true
		}
	}
	if changing {
		x.s.seenAtOnce = min(2*max(1, x.s.seenAtOnce), MaxBatch)
	}
	return outcomes, nil
}

// executeOne executes a command, then commits it or rolls it back.
func (x *executor) executeOne(ctx context.Context, c *Command) Outcome {
	x.changes.begin()
	x.changes.counts = c.Affected
	o := x.apply(ctx, c)
	if o.Err == nil && !o.Skipped {
		o.Err = x.propagate(ctx)
	}
	x.changes.compact()
	if o.Err == nil && !o.Skipped { // the changes are complete and not yet written
		if o.Err = x.gate.check(ctx, c, x.target); o.Err == nil {
			o.Err = x.defs.check(ctx, c, x.target)
		}
	}
	if o.Err != nil {
		x.changes.rollback()
		o.about = nil // its texts may be long, and many commands may fail
		return o
	}
	x.changes.commit()
	if c.Self != nil && c.Verb == Create {
		c.Self.Made = true
	}
	if o.about != nil {
		o.as = o.about.cur
	}
	return o
}

func (x *executor) apply(ctx context.Context, c *Command) Outcome {
	if c.decided != nil {
		return *c.decided
	}
	if c.Within != nil && c.Within.outcome.Skipped {
		return Outcome{Skipped: true}
	}
	if c.Within != nil && c.Within.outcome.Err != nil {
		return Outcome{Err: badToken(c.Context)}
	}
	switch c.Verb {
	case Create:
		return x.create(ctx, c)
	case Update:
		return x.update(ctx, c)
	case Undo:
		return x.undo(ctx, c)
	}
	return x.operate(ctx, c)
}

func (x *executor) create(ctx context.Context, c *Command) Outcome {
	t, tr := c.Type, x.s.e.layout.types[c.Type]
	if tr == nil {
		return Outcome{Err: AbstractType(t.Name)}
	}
	w := x.changes.newRow(t, x.nextID)
	x.nextID++
	x.target = w
	c.Self.Type, c.Self.ID = t, w.id
	return Outcome{OID: w.oid(), about: w, Err: x.fill(ctx, w, c, tr)}
}

// fill sets the values of a new asset and checks them. The values come first from the command,
// then from the context, and then from the defaults of the model.
func (x *executor) fill(ctx context.Context, w *row, c *Command, tr *typeRules) error {
	from, err := x.resolver.resolveContext(ctx, c)
	if err != nil {
		return err
	}
	if err := x.set.applyChanges(ctx, w, c.Changes); err != nil {
		return err
	}
	if from.typ != nil {
		if err := x.set.fillFromContext(ctx, w, c, from); err != nil {
			return err
		}
	}
	if err := x.set.setDefaults(ctx, w, c); err != nil {
		return err
	}
	if err := x.set.deriveValues(ctx, w); err != nil {
		return err
	}
	if err := x.rules.checkImported(ctx, w); err != nil {
		return err
	}
	x.defs.complete(w)
	if err := x.rules.checkRequired(w, tr, true); err != nil {
		return err
	}
	if err := x.rules.checkTracking(ctx, w, c); err != nil {
		return err
	}
	if !w.typ.Secured.Self {
		return nil
	}
	return x.set.members.addScope(ctx, w)
}

func (x *executor) update(ctx context.Context, c *Command) Outcome {
	w, out := x.lockTarget(ctx, c)
	if w == nil {
		return out
	}
	x.changes.touch(w)
	if out.Err = x.set.applyChanges(ctx, w, c.Changes); out.Err == nil {
		out.Err = x.set.deriveValues(ctx, w)
	}
	if out.Err == nil {
		out.Err = x.rules.checkTracking(ctx, w, c)
	}
	return out
}

func (x *executor) operate(ctx context.Context, c *Command) Outcome {
	w, out := x.lockTarget(ctx, c)
	if w == nil {
		return out
	}
	made, err := x.operations.run(ctx, w, c)
	if made != nil {
		out.about = made
	}
	out.Err = err
	return out
}

// lockTarget locks the asset of an update or operation. If the command is skipped or fails,
// the row is nil. A command is skipped if it names the alias of a deleted asset, or if another
// request has deleted the asset since the lookup. It fails if the asset does not exist, or
// has another moment than IfMoment.
func (x *executor) lockTarget(ctx context.Context, c *Command) (*row, Outcome) {
	t, ok, err := x.resolver.resolveRef(ctx, c.Target)
	switch {
	case err == nil && c.ByPath:
		err = x.checkPath(ctx, t, ok)
	case err == nil && !ok:
		err = badToken(c.Target)
	}
	if err != nil {
		return nil, Outcome{Err: err}
	}
	out := Outcome{OID: oid.OID{Type: t.typ.Name, ID: t.typ.Shown(t.id)}}
	if t.isDeleted() && c.Target.Handle != nil {
		out.Skipped = true
		return nil, out
	}
	w, ok, err := x.loaded.lock(ctx, t.id)
	switch {
	case err != nil || !ok || !w.target().isDeleted():
	case c.TargetLive && w.cur.audit != x.s.audit && !x.s.scopesHidden: // deleted by another request
		out.Skipped, out.Err = true, checkNames(c, w.typ)
		return nil, out
	case c.Verb == Update && !c.TargetDeleted: // an earlier command of the request has deleted the asset
		out.Err = badToken(c.Target)
		return nil, out
	}
	if err == nil && !ok {
		err = badToken(c.Target)
	}
	if err == nil && !oid.HasMoment(int64(w.cur.moment), c.IfMoment) {
		err = Stale(out.OID)
	}
	out.Err, out.about, x.target = err, w, w
	if err != nil {
		return nil, out
	}
	return w, out
}

// checkNames returns an error for an attribute or operation that a type does not have. Such a command fails, also if
// its asset was deleted meanwhile.
func checkNames(c *Command, t *meta.Type) error {
	if _, ok := t.Op(c.Op); c.Verb == Operate && !ok {
		return UnknownOp(t.Name, c.Op)
	}
	for i := range c.Changes {
		if _, ok := t.Attr(c.Changes[i].Name); c.Verb == Update && !ok {
			return fault.Placed(query.UnknownAttribute(t.Name, c.Changes[i].Name), c.Changes[i].At)
		}
	}
	return nil
}

// checkPath returns an error if the target of a path does not exist, is not visible to the
// caller, or is deleted.
// Errors: fault.NotFound.
func (x *executor) checkPath(ctx context.Context, t target, ok bool) (err error) {
	if ok {
		ok, err = x.rules.visible(ctx, t)
	}
	if err == nil && (!ok || t.isDeleted()) {
		err = NotFound()
	}
	return err
}
