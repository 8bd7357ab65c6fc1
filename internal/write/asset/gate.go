package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
)

// gate checks whether the caller has the rights for the changes that a command has made in
// memory. The rights of roles are data of the model. Package query applies the same rules in
// the attributes from which clients read their rights.
//
// Spec: interface 5.8.
type gate struct {
	unit
}

// check returns an error if the caller does not have the rights for a command. target is the
// asset that the command creates or names. Assets that change as a consequence, such as the tasks
// of a story, need no additional right.
// Errors: fault.Denied; fault.Invalid for a missing OldPassword.
func (g *gate) check(ctx context.Context, c *Command, target *row) error {
	g.noteAdministrators(c, target)
	if err := g.checkDefinitions(c, target); err != nil {
		return err
	}
	if err := g.checkBounds(ctx, target); err != nil {
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
	if c.Verb == Undo {
		if err := g.checkMade(ctx, target); err != nil {
			return err
		}
	}
	for _, w := range g.changes.holders {
		if err := g.require(ctx, w, meta.ToChange, ""); err != nil {
			return err
		}
	}
	if err := g.checkEdges(ctx, target); err != nil {
		return err
	}
	return g.checkPower(ctx)
}

// checkTarget checks the rights for the asset that the command creates or names. If an update
// changes only relations that other assets store, the right meta.ToRelate is enough for the
// asset.
func (g *gate) checkTarget(ctx context.Context, c *Command, w *row) error {
	switch {
	case c.Verb == Undo:
		return g.checkUndone(ctx, w)
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
		if relates = false; a.Name == OldPassword { // OldPassword is checked, but changes nothing
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

// checkOldPassword requires OldPassword from members who change their own password. So a stolen
// access token is not enough to take over a member. Administrators may set the passwords of
// others, and do not need to send OldPassword. A wrong OldPassword has already been refused.
// Errors: fault.Invalid.
func (g *gate) checkOldPassword(c *Command, w *row) error {
	if c.Verb != Update || w.id != g.s.who.Member || g.s.who.System == meta.MemberAdmin {
		return nil
	}
	if !c.sets("Password") || c.sets(OldPassword) {
		return nil
	}
	a, ok := w.typ.Attr(OldPassword)
	if !ok {
		return nil
	}
	return required(a)
}

// checkMade checks the rights for the assets that an operation has created or deleted, except the
// target of the operation. Examples are a copy, which is created, and an epic that is deleted
// because it becomes a story again. If the operation has created or changed an asset, the parts of
// this asset need no right.
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

// isPart reports whether w is a part of an asset that the operation has changed or created.
func (g *gate) isPart(ctx context.Context, w *row) (bool, error) {
	name := w.typ.PartOf.Relation
	if name == "" && w.typ.Rights.Kind.Own { // such as the receipt of a message
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

// checkEdges checks the rights for the links that the command begins or ends. A link that
// another asset stores needs the right to change that asset. For a link that the target
// stores, see checkAdoption.
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
		if e.from == target.id && e.to != target.id { // a link from the target to itself may be a change of either end
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

// checkAdoption checks a new link that places the linked asset in a project. For example, a
// schedule is in all projects that use it. The caller needs the right to relate the asset.
// Without this check a caller could get rights to an asset of other projects.
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
		ok, err := g.may(ctx, w, true, meta.ToRelate, "") // before the command, without the new link
		if err == nil && !ok {
			err = denied(t, meta.ToRelate, "")
		}
		return err
	}
	return nil
}

// rowOf returns an asset with its values, or nil if it does not exist.
func (g *gate) rowOf(ctx context.Context, id int64) (*row, error) {
	t, ok, err := g.loaded.find(ctx, id)
	if err != nil || !ok {
		return nil, err
	}
	return g.loaded.read(ctx, t)
}

// require returns an error unless the caller has a right to an asset both before and after the
// command.
// Errors: fault.Denied.
func (g *gate) require(ctx context.Context, w *row, verb meta.Verb, name string) error {
	ok, err := g.may(ctx, w, false, verb, name)
	// With Rights.Lies, a link determines the project of the asset. The command may have
	// changed that link without a change of the row.
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

// mayMove reports whether the caller may create projects in the old and in the new parent of
// a project. It is true if the parent does not change.
func (g *gate) mayMove(w *row) bool {
	a, ok := w.typ.Attr("Parent")
	if !ok {
		return true
	}
	from, to := w.before.refOr(a.Place.Slot), w.cur.refOr(a.Place.Slot)
	set := w.typ.Rights.Kind.Roles(meta.ToCreate, "")
	return from == to || set.Has(g.roleIn(from)) && set.Has(g.roleIn(to))
}
