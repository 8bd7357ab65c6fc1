package asset

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
)

// opCode carries out the part of an operation that Effect does not describe as data. It returns
// the new asset for the answer, or nil if the answer is the asset of the operation.
type opCode func(o *operations, ctx context.Context, w *row, op *meta.Op, args []Change) (*row, error)

// opCodes are the functions of operations. The key is Effect.Code.
var opCodes = map[string]opCode{
	"ApplyProposal":                          (*operations).applyProposal,
	"AssignMemberWithRole":                   (*operations).assignMember,
	"AssignToScopeWithRole":                  (*operations).assignToScope,
	"Breakdown":                              (*operations).breakDown,
	"ConvertToDefect":                        (*operations).convertToDefect,
	"ConvertToTeam":                          (*operations).convertToTeam,
	"Copy":                                   (*operations).copyWhole,
	"CopyAcceptanceTestsFromRegressionSuite": (*operations).copyRegressionTests,
	"DeepCopy":                               (*operations).copyWhole,
	"DeclineProposal":                        (*operations).declineProposal,
	"DeleteExpression":                       (*operations).deleteExpression,
	"DeleteWithData":                         (*operations).deleteWithData,
	"EpicToStory":                            (*operations).epicToStory,
	"GenerateSubEpic":                        (*operations).generateSub,
	"GenerateSubStory":                       (*operations).generateSub,
	"QuickClose":                             (*operations).quickClose,
	"QuickSignup":                            (*operations).quickSignup,
	"Send":                                   (*operations).send,
	"ShallowCopy":                            (*operations).copyShallow,
	"Split":                                  (*operations).split,
	"StoryToEpic":                            (*operations).breakDown,
}

// copies are the values of Effect.Code for operations that copy an asset to the same type. For
// these operations, prefetch loads the links of the asset.
var copies = map[string]bool{"Copy": true, "DeepCopy": true, "ShallowCopy": true, "Split": true}

// needsQueries are the values of Effect.Code for operations that read the database while they
// run. They cannot share a batch with earlier commands, whose changes are not written yet.
var needsQueries = map[string]bool{
	"CopyAcceptanceTestsFromRegressionSuite": true, "DeleteExpression": true, "EpicToStory": true, "Send": true,
}

// run checks that an operation may run, and runs it on an asset and on its parts. made is the new
// asset for the answer, or nil if the answer is w.
func (o *operations) run(ctx context.Context, w *row, c *Command) (made *row, err error) {
	op, ok := w.typ.Op(c.Op)
	if !ok {
		return nil, UnknownOp(w.typ.Name, c.Op)
	}
	if err := checkArgs(w.typ, op, c.Args); err != nil {
		return nil, err
	}
	code := opCodes[op.Effect.Code]
	switch {
	case op.Effect.Code != "" && code == nil:
		return nil, notAvailable(w.typ.Name, c.Op)
	case o.rules.alreadyApplied(w, op):
		return nil, nil
	}
	if op.Effect.Code == "EpicToStory" {
		if err := o.lockEpic(ctx, w); err != nil {
			return nil, err
		}
	}
	if err := o.rules.checkOperation(ctx, w, op); err != nil || op.Repeats(w.cur.code) {
		return nil, err
	}

	o.changes.touch(w)
	w.cur.partOp = ""
	if err := o.applyEffect(ctx, w, op); err != nil {
		return nil, err
	}
	if code != nil {
		if made, err = code(o, ctx, w, op, c.Args); err != nil {
			return nil, err
		}
	}
	return made, o.operateOnParts(ctx, w, op)
}

// applyEffect carries out the part of an operation that the model describes as data.
func (o *operations) applyEffect(ctx context.Context, w *row, op *meta.Op) error {
	for _, name := range slices.Sorted(maps.Keys(op.Effect.Set)) {
		a, ok := w.typ.Attr(name)
		if !ok {
			return unknownAttr(w.typ, name)
		}
		if err := o.set.setDefault(ctx, w, a, op.Effect.Set[name]); err != nil {
			return err
		}
	}
	if op.Effect.Back {
		return o.restore(ctx, w)
	}
	if op.Effect.To >= 0 {
		o.claimUsername(w, op.Effect.To)
		w.setState(op.Effect.To)
	}
	return nil
}

// operations runs operations on assets.
type operations struct {
	unit
	rules    *rules
	resolver *resolver
	set      *setter
	copier   *copier
}

// argument returns the value of an argument of an operation. The case of the name does not
// matter.
func argument(args []Change, name string) (Value, bool) {
	for _, a := range args {
		if strings.EqualFold(a.Name, name) && len(a.Set) > 0 {
			return a.Set[0], true
		}
	}
	return Value{}, false
}

// argumentAsset returns the asset of a type that an argument names. The argument is required.
func (o *operations) argumentAsset(ctx context.Context, w *row, args []Change, name, typ string) (target, error) {
	t, ok := o.s.e.model.Type(typ)
	if !ok {
		return target{}, UnknownType(typ)
	}
	a := &meta.Attr{Name: name, On: w.typ, Declared: w.typ, Kind: meta.Relation, Related: t}
	v, ok := argument(args, name)
	if !ok {
		return target{}, required(a)
	}
	found, null, err := o.resolver.resolve(ctx, a, v)
	if err == nil && null {
		err = required(a)
	}
	return found, err
}

// claimUsername sets the login of a deleted member again when the member leaves the state
// deleted. If another member now has the username, the operation fails. The parameter to is the
// new state.
func (o *operations) claimUsername(w *row, to int) {
	a := o.s.e.layout.types[w.typ].username
	if a == nil || w.cur.code != meta.StateDeleted || to == meta.StateDeleted {
		return
	}
	if name, _ := w.get(a).(string); name != "" {
		o.changes.setLogin(w, &name, nil)
	}
}

// restore sets a deleted asset to the state that it had before its deletion. If an attribute
// determines the state of such assets, deriveValues may then set another state.
func (o *operations) restore(ctx context.Context, w *row) error {
	if err := o.loaded.loadDeletions(ctx, []int64{w.id}); err != nil {
		return err
	}
	to := meta.StateActive
	if e := o.loaded.deletions[w.id]; e != nil {
		to = e.state
	}
	o.claimUsername(w, to)
	w.setState(to)
	tr := o.s.e.layout.types[w.typ]
	if tr.stateAttr == nil {
		return nil
	}
	if _, err := o.loaded.edgesFrom(ctx, w.typ, w.id, tr.stateAttr.Place.Code); err != nil {
		return err
	}
	return o.set.deriveValues(ctx, w)
}

// clearToDo sets the attribute ToDo of a workitem to zero, if the attribute has a value.
func (o *operations) clearToDo(w *row) {
	if a, ok := w.typ.Attr("ToDo"); ok && w.get(a) != nil {
		w.set(a, 0.0)
	}
}
