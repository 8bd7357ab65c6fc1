package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// quickClose closes the open tasks and tests of an asset. It sets the attribute ToDo of
// the asset and of these tasks and tests to zero. Effect.To closes the asset itself.
func (o *operations) quickClose(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	children, err := o.loaded.childrenOf(ctx, w)
	if err != nil {
		return nil, err
	}
	o.clearToDo(w)
	for _, child := range children {
		if runsInState(op, child.cur.code) {
			o.changes.touch(child)
			child.setState(op.Effect.To)
			o.clearToDo(child)
		}
	}
	return nil, nil
}

// quickSignup adds the caller to the owners of an asset.
func (o *operations) quickSignup(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("Owners")
	if !ok {
		return nil, unknownAttr(w.typ, "Owners")
	}
	me, ok, err := o.loaded.find(ctx, o.s.who.Member)
	if err != nil || !ok {
		return nil, err
	}
	if me.isDeleted() { // an earlier command of the request has deleted the caller
		return nil, invalid(a)
	}
	return nil, o.set.addMember(ctx, w, a, me)
}

func (o *operations) assignMember(ctx context.Context, w *row, _ *meta.Op, args []Change) (*row, error) {
	member, err := o.argumentAsset(ctx, w, args, "Member", "Member")
	if err != nil {
		return nil, err
	}
	return nil, o.assignRole(ctx, w, args, w.id, member.id)
}

func (o *operations) assignToScope(ctx context.Context, w *row, _ *meta.Op, args []Change) (*row, error) {
	scope, err := o.argumentAsset(ctx, w, args, "Scope", "Scope")
	if err != nil {
		return nil, err
	}
	return nil, o.assignRole(ctx, w, args, scope.id, w.id)
}

func (o *operations) assignRole(ctx context.Context, w *row, args []Change, scope, member int64) error {
	to, err := o.argumentAsset(ctx, w, args, "Role", "Role")
	if err != nil {
		return err
	}
	owner := false
	if v, ok := argument(args, "IsOwner"); ok && !v.isEmpty() {
		x, ok := value.Parse(meta.Boolean, false, v.Text)
		if owner, _ = x.(bool); !ok {
			return invalid(&meta.Attr{Name: "IsOwner", On: w.typ})
		}
	}
	return o.set.members.setRole(ctx, w, scope, member, to.id, owner)
}
