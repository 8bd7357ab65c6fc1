package asset

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/alds-dev/alds/internal/meta"
	"github.com/alds-dev/alds/internal/value"
)

// opCode carries out an operation that is more than a change of state. It
// returns the asset the operation answers with where that is a new one.
type opCode func(r *run, ctx context.Context, w *row, op *meta.Op, args []Change) (*row, error)

// opCodes are the operations with code of their own, by Effect.Code.
var opCodes = map[string]opCode{
	"AssignMemberWithRole":                   (*run).assignMember,
	"AssignToScopeWithRole":                  (*run).assignToScope,
	"Breakdown":                              (*run).breakDown,
	"ConvertToDefect":                        (*run).convertToDefect,
	"ConvertToTeam":                          (*run).convertToTeam,
	"Copy":                                   (*run).copyWhole,
	"CopyAcceptanceTestsFromRegressionSuite": (*run).copyRegressionTests,
	"DeepCopy":                               (*run).copyWhole,
	"EpicToStory":                            (*run).epicToStory,
	"GenerateSubEpic":                        (*run).generateSub,
	"GenerateSubStory":                       (*run).generateSub,
	"QuickClose":                             (*run).quickClose,
	"QuickSignup":                            (*run).quickSignup,
	"Send":                                   (*run).send,
	"ShallowCopy":                            (*run).copyShallow,
	"Split":                                  (*run).split,
	"StoryToEpic":                            (*run).breakDown,
}

// needsQueries are the operations that look into the database for more than their
// asset: what stands before them has to be there.
var needsQueries = map[string]bool{"CopyAcceptanceTestsFromRegressionSuite": true, "EpicToStory": true, "Send": true}

// operate runs an operation on one asset: it checks the state it may run in,
// then does what the model says, then what its code adds.
func (r *run) operate(ctx context.Context, c *Command) Outcome {
	w, out := r.lockTarget(ctx, c)
	if w == nil {
		return out
	}
	op, ok := w.typ.Op(c.Op)
	if !ok {
		out.Err = UnknownOp(w.typ.Name, c.Op)
		return out
	}
	code := opCodes[op.Effect.Code]
	if out.Err = checkArgs(w.typ, op, c.Args); out.Err != nil {
		return out
	}
	switch {
	case op.Effect.Code != "" && code == nil:
		out.Err = notAvailable(w.typ.Name, c.Op)
		return out
	case r.alreadyApplied(w, op):
		return out
	}
	if out.Err = r.checkOperation(ctx, w, op); out.Err != nil {
		return out
	}
	r.changes.touch(w)
	w.cur.partOp = ""
	var made *row
	if out.Err = r.applyEffect(ctx, w, op); out.Err == nil && code != nil {
		made, out.Err = code(r, ctx, w, op, c.Args)
	}
	if out.Err == nil {
		out.Err = r.operateOnParts(ctx, w, op)
	}
	if made != nil {
		out.about = made
	}
	return out
}

func runsInState(op *meta.Op, code int) bool {
	if len(op.Effect.From) == 0 {
		return code != stateDeleted
	}
	return slices.Contains(op.Effect.From, code)
}

// applyEffect does what the model says an operation does.
func (r *run) applyEffect(ctx context.Context, w *row, op *meta.Op) error {
	for _, name := range slices.Sorted(maps.Keys(op.Effect.Set)) {
		a, ok := w.typ.Attr(name)
		if !ok {
			return unknownAttr(w.typ, name)
		}
		if err := r.setDefault(ctx, w, a, op.Effect.Set[name]); err != nil {
			return err
		}
	}
	if op.Effect.Back {
		return r.restore(ctx, w)
	}
	if op.Effect.To >= 0 {
		r.claimUsername(w, op.Effect.To)
		w.setState(op.Effect.To)
	}
	return nil
}

// claimUsername takes the username of a deleted member again, which may have been
// given to another one meanwhile: the operation fails then.
func (r *run) claimUsername(w *row, to int) {
	a := r.e.layout.types[w.typ].username
	if a == nil || w.cur.code != stateDeleted || to == stateDeleted {
		return
	}
	if name, _ := w.get(a).(string); name != "" {
		r.changes.logins = append(r.changes.logins, login{member: w.id, typ: w.typ.Name, username: &name})
	}
}

// quickClose leaves nothing to do: the asset is closed by the model's effect,
// its open tasks and tests here, and none of them has effort left.
func (r *run) quickClose(ctx context.Context, w *row, op *meta.Op, _ []Change) (*row, error) {
	below, err := r.childrenOf(ctx, w)
	if err != nil {
		return nil, err
	}
	r.clearToDo(w)
	for _, f := range below {
		if runsInState(op, f.cur.code) {
			r.changes.touch(f)
			f.setState(op.Effect.To)
			r.clearToDo(f)
		}
	}
	return nil, nil
}

// clearToDo sets the effort left of a workitem that has any to nothing.
func (r *run) clearToDo(w *row) {
	if a, ok := w.typ.Attr("ToDo"); ok && w.get(a) != nil {
		w.set(a, 0.0)
	}
}

// quickSignup makes the acting member an owner.
func (r *run) quickSignup(ctx context.Context, w *row, _ *meta.Op, _ []Change) (*row, error) {
	a, ok := w.typ.Attr("Owners")
	if !ok {
		return nil, unknownAttr(w.typ, "Owners")
	}
	me, ok, err := r.find(ctx, r.s.who.Member)
	if err != nil || !ok {
		return nil, err
	}
	return nil, r.addMember(ctx, w, a, me)
}

// checkArgs refuses arguments that the operation does not take, and values of a
// form that none takes.
func checkArgs(t *meta.Type, op *meta.Op, args []Change) error {
	for i := range args {
		a := &args[i]
		known := slices.ContainsFunc(op.Effect.Args, func(name string) bool { return strings.EqualFold(name, a.Name) })
		switch {
		case !known:
			return unknownArgument(t.Name, op.Name, a.Name)
		case a.Bad != nil || len(a.Set) != 1:
			return invalid(&meta.Attr{Name: a.Name, On: t, Declared: t})
		}
	}
	return nil
}

// argument finds an argument of an operation; names ignore case.
func argument(args []Change, name string) (Value, bool) {
	for _, a := range args {
		if strings.EqualFold(a.Name, name) && len(a.Set) > 0 {
			return a.Set[0], true
		}
	}
	return Value{}, false
}

// argumentAsset resolves an argument that names an asset of a type.
func (r *run) argumentAsset(ctx context.Context, w *row, args []Change, name, typ string) (target, error) {
	t, ok := r.e.model.Type(typ)
	if !ok {
		return target{}, UnknownType(typ)
	}
	a := &meta.Attr{Name: name, On: w.typ, Declared: w.typ, Kind: meta.Relation, Related: t}
	v, ok := argument(args, name)
	if !ok {
		return target{}, required(a)
	}
	found, null, err := r.resolve(ctx, a, v)
	if err == nil && null {
		err = required(a)
	}
	return found, err
}

func (r *run) assignMember(ctx context.Context, w *row, _ *meta.Op, args []Change) (*row, error) {
	member, err := r.argumentAsset(ctx, w, args, "Member", "Member")
	if err != nil {
		return nil, err
	}
	return nil, r.assignRole(ctx, w, args, w.id, member.id)
}

func (r *run) assignToScope(ctx context.Context, w *row, _ *meta.Op, args []Change) (*row, error) {
	scope, err := r.argumentAsset(ctx, w, args, "Scope", "Scope")
	if err != nil {
		return nil, err
	}
	return nil, r.assignRole(ctx, w, args, scope.id, w.id)
}

func (r *run) assignRole(ctx context.Context, w *row, args []Change, scope, member int64) error {
	to, err := r.argumentAsset(ctx, w, args, "Role", "Role")
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
	return r.setRole(ctx, w, scope, member, to.id, owner)
}
