package clienttest

import (
	"slices"
	"strings"
)

// Bounds of a walk through the states of a type's assets.
const (
	maxSteps = 40 // operations on one asset
	maxWalks = 4  // assets
)

// walk runs the operations of a type: on an asset first those that have no
// validator, since they run on whatever is not deleted, then what may run and has
// been run least, until all have.
type walk struct {
	*client
	typ  *assetType
	ran  map[string]int  // how often each operation was run
	kept map[string]bool // operations that were refused where their validator says no
}

// operates runs all operations of a type.
func (c *client) operates(typ *assetType) {
	c.t.Helper()
	if !typ.creatable() || len(typ.Operations) == 0 {
		return
	}
	w := &walk{c, typ, map[string]int{}, map[string]bool{}}
	for range maxWalks {
		if w.along(c.make(typ.Token)); len(w.ran) == len(typ.Operations) {
			break
		}
	}
	for _, op := range sorted(typ.Operations) {
		if w.ran[op.Name] == 0 {
			c.t.Errorf("%s.%s never could be run", typ.Token, op.Name)
		}
	}
}

// along runs operations on an asset, each time what has been run least often.
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

// run runs an operation, which may run, if there is one, and reads the validators.
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

// may are the operations that may run on an asset, by the values of its validators.
// Of the others each is refused.
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

// command runs an operation on an asset, a deleted one, too, with all arguments.
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

// nameOf is the part of a token behind its type, typeOf that type.
func nameOf(token string) string { return strings.TrimPrefix(token, typeOf(token)+".") }

func typeOf(token string) string {
	name, _, _ := strings.Cut(token, ".")
	return name
}
