package clienttest

import (
	"slices"
	"strings"
)

// Limits of the test of a type's operations.
const (
	maxSteps = 40 // most operations that it runs on one asset
	maxWalks = 4  // most assets that it creates
)

// walk runs the operations of a type. On each asset it first runs the operations without a validator,
// because they may run in every state except deleted. Then it repeatedly runs the allowed operation that
// has run least often, until all operations have run.
type walk struct {
	*client
	typ  *assetType
	ran  map[string]int  // number of runs of each operation
	kept map[string]bool // operations that were refused as expected, because their validator was false
}

// operates runs all operations of a type.
func (c *client) operates(typ *assetType) {
	c.t.Helper()
	if !typ.creatable() || len(typ.Operations) == 0 {
		return
	}
	w := &walk{c, typ, map[string]int{}, map[string]bool{}}
	for range maxWalks {
		oid := c.make(typ.Token)
		if name := needed[typ.Token]; name != "" {
			c.send(object{"from": oid, "update": object{name: c.any(typ.Token, typ.Attributes[typ.Token+"."+name], 0)}})
		}
		if w.along(oid); len(w.ran) == len(typ.Operations) {
			break
		}
	}
	for _, op := range sorted(typ.Operations) {
		if w.ran[op.Name] == 0 && op.Name != "Apply" { // a proposal is applied by the plan that it keeps
			c.t.Errorf("%s.%s never could be run", typ.Token, op.Name)
		}
	}
}

// along runs operations on an asset. It always chooses the operation that has run least often.
func (w *walk) along(oid string) {
	w.t.Helper()
	var next *operation
	for _, op := range sorted(w.typ.Operations) {
		if op.Validator.TokenRef == "" {
			w.run(oid, op)
		}
	}
	for range maxSteps {
		may := w.may(oid, w.run(oid, next))
		if len(may) == 0 || len(w.ran) == len(w.typ.Operations) {
			return
		}
		next = slices.MinFunc(may, func(a, b *operation) int { return w.ran[a.Name] - w.ran[b.Name] })
		if w.ran[next.Name] > 2 {
			return
		}
	}
}

// run runs an operation, which must succeed. It returns the state of the asset and the values of all
// validators. If op is nil, it only reads.
func (w *walk) run(oid string, op *operation) object {
	w.t.Helper()
	names := []string{"AssetState"}
	for _, other := range w.typ.Operations {
		if other.Validator.TokenRef != "" {
			names = append(names, nameOf(other.Validator.TokenRef))
		}
	}
	if op == nil {
		return w.row(oid, names)
	}
	w.ran[op.Name]++
	r, row := w.sendAndRead(oid, names, w.command(oid, op))
	if len(r.failures()) > 0 || !slices.Contains(r.AssetsOperatedOn.OidTokens, oid) {
		w.t.Errorf("%s may run %s, but: %v %v", oid, op.Name, r.failures(), r.AssetsOperatedOn)
	}
	return row
}

// may returns the operations that may run on an asset according to its validators. For each of the other
// operations it checks once that the operation is refused.
func (w *walk) may(oid string, row object) []*operation {
	w.t.Helper()
	var may []*operation
	for _, op := range sorted(w.typ.Operations) {
		switch validator := op.Validator.TokenRef; {
		case validator == "":
		case row[nameOf(validator)] == true:
			may = append(may, op)
		case repeats[op.Name] != "" && repeats[op.Name] == row["AssetState"]:
		case unoffered(op, row):
			may = append(may, op)
		case !w.kept[op.Name]:
			w.kept[op.Name] = true
			want := "Invalid Operation '" + w.typ.Token + "." + op.Name + "'"
			if got := w.send(w.command(oid, op)).failures()[0]; got != want {
				w.t.Errorf("%s may not run %s, but the answer is %q, not %s", oid, op.Name, got, want)
			}
		}
	}
	return may
}

// command returns a command that runs an operation with all its arguments. The asset may be deleted.
func (w *walk) command(oid string, op *operation) object {
	w.t.Helper()
	args := object{}
	for _, arg := range sorted(op.Arguments) {
		a := &attribute{Name: arg.Name, Token: w.typ.Token + "." + op.Name + "." + arg.Name, AttributeType: arg.AttributeType, RelatedAsset: arg.RelatedAsset}
		args[arg.Name] = w.any(w.typ.Token, a, 1)
		if known, ok := arguments[arg.Name]; ok {
			args[arg.Name] = known
		}
	}
	return object{"oid": oid, "execute": object{"op": op.Name, "args": args}}
}

// nameOf returns the token without the type. For "Story.Name" it returns "Name".
func nameOf(token string) string { return strings.TrimPrefix(token, typeOf(token)+".") }

func typeOf(token string) string {
	name, _, _ := strings.Cut(token, ".")
	return name
}
