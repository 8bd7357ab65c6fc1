package asset

import (
	"context"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/meta"
)

// opCode carries out an operation that is more than a change of state. It returns
// the asset the operation answers with where that is a new one.
type opCode func(o *operations, ctx context.Context, w *row, op *meta.Op, args []Change) (*row, error)

// opCodes are the operations with code of their own, by Effect.Code.
var opCodes = map[string]opCode{
	"AssignMemberWithRole":                   (*operations).assignMember,
	"AssignToScopeWithRole":                  (*operations).assignToScope,
	"Breakdown":                              (*operations).breakDown,
	"ConvertToDefect":                        (*operations).convertToDefect,
	"ConvertToTeam":                          (*operations).convertToTeam,
	"Copy":                                   (*operations).copyWhole,
	"CopyAcceptanceTestsFromRegressionSuite": (*operations).copyRegressionTests,
	"DeepCopy":                               (*operations).copyWhole,
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

// needsQueries are the operations that read the database while they run, so they
// cannot share a batch with the commands before them.
var needsQueries = map[string]bool{"CopyAcceptanceTestsFromRegressionSuite": true, "EpicToStory": true, "Send": true}

// run checks that an operation may run on an asset, then does what the model
// defines and what its code adds. made is the asset the operation answers with,
// nil for the asset itself.
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
	if err := o.rules.checkOperation(ctx, w, op); err != nil {
		return nil, err
	}
	o.changes.touch(w)
	w.cur.partOp = ""
	if err = o.applyEffect(ctx, w, op); err == nil && code != nil {
		made, err = code(o, ctx, w, op, c.Args)
	}
	if err == nil {
		err = o.operateOnParts(ctx, w, op)
	}
	return made, err
}

// applyEffect carries out the effect that the model defines.
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
