package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// gate decides whether the caller may do what a command has done in memory. The
// rights of roles are data of the model; package query prints the same rule for
// the attributes that tell of it.
//
// Spec: interface 5.8.
type gate struct {
	unit
}

// check refuses a command that the caller may not carry out. target is the asset
// that the command makes or names. What changes besides as a consequence, such as
// the tasks of a story, needs no right of its own.
// Errors: fault.Denied; fault.Invalid for a missing OldPassword.
func (g *gate) check(ctx context.Context, c *Command, target *row) error {
	g.noteAdministrators(c, target)
	if err := g.checkDefinitions(c, target); err != nil {
		return err
	}
	if g.s.who.Admin {
		return nil
	}
	if err := g.checkTarget(ctx, c, target); err != nil {
		return err
	}
	if err := g.checkOldPassword(c, target); err != nil {
		return err
	}
	if err := g.checkRoles(ctx, c, target); err != nil {
		return err
	}
	if err := g.checkMoves(ctx); err != nil {
		return err
	}
	if c.Verb == Operate {
		return g.checkMade(ctx, target)
	}
	for _, w := range g.changes.holders {
		if err := g.require(ctx, w, meta.ToChange, ""); err != nil {
			return err
		}
	}
	return g.checkEdges(ctx, target)
}

// checkTarget checks what the command does to the asset that it makes or names. A
// command that names only relations which other assets hold relates it to them.
func (g *gate) checkTarget(ctx context.Context, c *Command, w *row) error {
	switch {
	case c.Verb == Operate && (c.Op == "Delete" || c.Op == "Undelete"):
		return g.require(ctx, w, meta.ToDelete, "")
	case c.Verb == Operate:
		return g.require(ctx, w, meta.ToOperate, c.Op)
	}
	changes, relates := false, true
	for i := range c.Changes {
		a, ok := w.typ.Attr(c.Changes[i].Name)
		if !ok || !isStored(a) && a.Place.Kind != meta.Secret {
			continue
		}
		if relates = false; a.Name == OldPassword { // it changes nothing
			continue
		}
		if !w.typ.RightDiffers(a.Name) {
			changes = true
			continue
		}
		if c.Verb == Create && w.typ.Rights.Kind.System {
			continue
		}
		if err := g.require(ctx, w, meta.ToChange, a.Name); err != nil {
			return err
		}
	}
	switch {
	case c.Verb == Create:
		return g.require(ctx, w, meta.ToCreate, "")
	case changes:
		return g.require(ctx, w, meta.ToChange, "")
	case relates:
		return g.require(ctx, w, meta.ToRelate, "")
	}
	return nil
}

// checkOldPassword requires the old password from a member who changes its own:
// whoever has only a token of the member must not take it over. Administrators,
// who set the passwords of others, need none. A wrong one has been refused before.
// Errors: fault.Invalid.
func (g *gate) checkOldPassword(c *Command, w *row) error {
	if c.Verb != Update || w.id != g.s.who.Member || g.s.who.System == meta.MemberAdmin || !c.sets("Password") || c.sets(OldPassword) {
		return nil
	}
	a, ok := w.typ.Attr(OldPassword)
	if !ok {
		return nil
	}
	return required(a)
}

// checkMade checks the assets that an operation has made, such as a copy, and those
// that it has deleted, such as the epic that becomes a story again.
func (g *gate) checkMade(ctx context.Context, target *row) error {
	for _, w := range g.changes.touched {
		verb := meta.ToCreate
		if !w.creating() {
			verb = meta.ToDelete
		}
		if w == target || verb == meta.ToDelete && (w.cur.code != meta.StateDeleted || w.before.code == meta.StateDeleted) {
			continue
		}
		part, err := g.isPart(ctx, w)
		if err != nil {
			return err
		}
		if part {
			continue
		}
		if err := g.require(ctx, w, verb, ""); err != nil {
			return err
		}
	}
	return nil
}

// isPart reports whether an asset that an operation has made belongs to one that
// the operation has changed or made.
func (g *gate) isPart(ctx context.Context, w *row) (bool, error) {
	name := w.typ.PartOf.Relation
	if name == "" && w.typ.Rights.Kind.Own { // the receipt of a message
		name = w.typ.Secured.Via
	}
	a, ok := w.typ.Attr(name)
	if !ok {
		return false, nil
	}
	id, err := g.loaded.pointsTo(ctx, w, a)
	owner := g.loaded.rows[id]
	return err == nil && owner != nil && owner.before != nil, err
}

// checkEdges checks the links that the command begins or ends at other assets than
// its target: those that others hold, and those that make another asset lie in
// the target.
func (g *gate) checkEdges(ctx context.Context, target *row) error {
	for _, ch := range g.changes.edges[g.changes.start.edges:] {
		e := ch.edge
		if e.code < 0 || g.s.e.layout.isMembers(e.code) {
			continue
		}
		a, ok := g.s.e.model.LinkByCode(e.code)
		if !ok {
			continue
		}
		if e.from == target.id && e.to != target.id { // one to itself may have been written from either side
			if err := g.checkAdoption(ctx, a, ch); err != nil {
				return err
			}
			continue
		}
		holder, err := g.rowOf(ctx, e.from)
		if err != nil || holder == nil {
			return err
		}
		if err := g.require(ctx, holder, meta.ToChange, a.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkAdoption checks that an asset may be made to lie in the project that begins
// to name it, as a schedule in the projects that use it: it must not be taken from
// others.
func (g *gate) checkAdoption(ctx context.Context, a *meta.Attr, ch edgeChange) error {
	if a.Back == nil || ch.set == nil {
		return nil
	}
	for _, t := range a.Related.Concrete {
		if t.Rights.Lies == nil || t.Rights.Lies.Place.Kind != meta.InLinksBack || t.Rights.Lies.Place.Code != a.Place.Code {
			continue
		}
		w, err := g.rowOf(ctx, ch.edge.to)
		if err != nil || w == nil {
			return err
		}
		ok, err := g.may(ctx, w, true, meta.ToRelate, "") // as it was: the project names it already
		if err == nil && !ok {
			err = denied(t, meta.ToRelate, "")
		}
		return err
	}
	return nil
}

// rowOf returns an asset with its values; nil when there is none.
func (g *gate) rowOf(ctx context.Context, id int64) (*row, error) {
	t, ok, err := g.loaded.find(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	return g.loaded.read(ctx, t)
}

// require refuses what the caller may not do with an asset as it was before the
// command and as it will be after it.
func (g *gate) require(ctx context.Context, w *row, verb meta.Verb, name string) error {
	ok, err := g.may(ctx, w, false, verb, name)
	// Where an asset lies by a link the command may have moved it without writing
	// its row.
	if err == nil && ok && !w.creating() && (w.before != nil || w.typ.Rights.Lies != nil) {
		ok, err = g.may(ctx, w, true, verb, name)
	}
	if err == nil && ok && w.typ.Secured.Self && verb == meta.ToChange && w.before != nil && !w.creating() {
		ok = g.mayMove(w)
	}
	if err == nil && !ok {
		err = denied(w.typ, verb, name)
	}
	return err
}

// mayMove reports whether the caller may make projects in the parent that a project
// had and in the one that it gets, if these differ.
func (g *gate) mayMove(w *row) bool {
	a, ok := w.typ.Attr("Parent")
	if !ok {
		return true
	}
	from, to := w.before.refOr(a.Place.Slot), w.cur.refOr(a.Place.Slot)
	set := w.typ.Rights.Kind.Roles(meta.ToCreate, "")
	return from == to || set.Has(g.roleIn(from)) && set.Has(g.roleIn(to))
}
