package query

import (
	"strings"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/query/token"
)

// Right is the condition that the member who runs the query has a right to the asset. Package
// asset uses the same rule for writes.
type Right struct {
	Verb meta.Verb
	Op   string // name of the operation; empty if Verb is not about an operation
	Not  bool   // true: the condition is that the member does not have the right

	model *meta.Model
}

// String prints a bound right.
func (r *Right) String() string {
	words := []string{r.Verb.String()}
	if r.Op != "" {
		words = append(words, r.Op)
	}
	if r.Not {
		return "{may not " + strings.Join(words, " ") + "}"
	}
	return "{may " + strings.Join(words, " ") + "}"
}

// withRight adds a right of the member to the condition c of an attribute, if the attribute depends
// on that right. c comes first in the result.
func (b *binder) withRight(a *meta.Attr, c Cond) Cond {
	r := &Right{Verb: meta.ToChange, model: b.m}
	op := token.And
	switch {
	case a.Place.Kind == meta.Validator:
		r.Op, r.Verb = a.Place.Expr, meta.ToOperate
		if r.Op == "Delete" || r.Op == "Undelete" {
			r.Verb = meta.ToDelete
		}
	case a.Name == "CanUpdate":
	case a.Name == "IsReadOnly":
		r.Not, op = true, token.Or
	default:
		return c
	}
	return Cond{Op: op, Kids: []Cond{c, {Right: r}}}
}

// saysRight reports whether a condition contains a right that withRight added.
func (c Cond) saysRight() bool { return len(c.Kids) == 2 && c.Kids[1].Right != nil }
