package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/base/folding"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/model/value"
)

// setValues adds and removes values of a multi-value scalar.
func (set *setter) setValues(ctx context.Context, w *row, a *meta.Attr, ch *Change) error {
	edges, err := set.loaded.edgesFrom(ctx, w.typ, w.id, edgeCode(a))
	if err != nil || ch.isNothing() {
		return err
	}
	if ch.Find != nil {
		return set.replaceValue(w, edges, a, ch)
	}
	for _, v := range ch.Remove {
		if v.isEmpty() {
			return invalid(a)
		}
		if old := valueIn(edges, a, v.Text); old != nil {
			set.changes.endEdge(old, w)
		}
	}
	for _, list := range [...][]Value{ch.Set, ch.Add} {
		for _, v := range list {
			if err := set.proceed(ctx); err != nil {
				return err
			}
			if err := set.addValueOnce(w, edges, a, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// addValueOnce adds one value to a multi-value scalar, unless the value already exists.
func (set *setter) addValueOnce(w *row, edges *edgeSet, a *meta.Attr, v Value) error {
	if v.isEmpty() {
		return invalid(a)
	}
	if err := checkMember(a, v); err != nil {
		return err
	}
	if valueIn(edges, a, v.Text) == nil {
		set.changes.addEdge(edges, edge{code: edgeCode(a), from: w.id, text: spelling(a, v.Text)}, w)
	}
	return nil
}

// valueIn returns the current edge with a value, or nil if there is no such edge. A number may
// also be stored as the client wrote it, because earlier releases stored numbers like that.
func valueIn(edges *edgeSet, a *meta.Attr, text string) *edge {
	if e := edges.value(edgeCode(a), spelling(a, text)); e != nil {
		return e
	}
	return edges.value(edgeCode(a), text)
}

// spelling returns the text that is stored for a value of a multi-value scalar. Equal numbers
// have the same text.
func spelling(a *meta.Attr, text string) string {
	if value.IsNumber(a.Kind) {
		if x, ok := parse(a, text); ok {
			return value.JSON(x)
		}
	}
	return text
}

// checkMember returns an error if v cannot be a value of a multi-value scalar. v may be empty.
func checkMember(a *meta.Attr, v Value) error {
	if len([]rune(v.Text)) > maxMulti {
		return tooLong(a)
	}
	if _, ok := parse(a, v.Text); !ok && !v.isEmpty() || len(folding.Of(v.Text)) > maxKey {
		return invalid(a)
	}
	return nil
}

// replaceValue replaces one value by another. An empty replacement removes the value. It changes
// nothing if the value to replace does not exist.
func (set *setter) replaceValue(w *row, edges *edgeSet, a *meta.Attr, ch *Change) error {
	if ch.Find.isEmpty() {
		return nil
	}
	if err := checkMember(a, ch.Replace); err != nil {
		return err
	}
	old := valueIn(edges, a, ch.Find.Text)
	if old == nil {
		return nil
	}
	set.changes.endEdge(old, w)
	if ch.Replace.isEmpty() {
		return nil
	}
	return set.addValueOnce(w, edges, a, ch.Replace)
}
