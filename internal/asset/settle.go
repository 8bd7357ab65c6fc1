package asset

import (
	"context"

	"github.com/alds-dev/alds/internal/meta"
)

// deriveValues keeps what follows from the row's own values: the AssetState that
// goes with an attribute, and a personal note's owner.
func (r *run) deriveValues(ctx context.Context, w *row) error {
	tr := r.e.layout.types[w.typ]
	if tr.stateAttr != nil && (w.dirty || w.linked) {
		if h := r.edgeSets[w.id]; h != nil && h.has(tr.stateAttr.Place.Code) {
			if l := h.one(tr.stateAttr.Place.Code); l != nil {
				if code, ok := tr.states[l.to]; ok && w.cur.code < 200 {
					w.setState(code)
				}
			}
		}
	}
	if err := checkPeriod(w, tr); err != nil {
		return err
	}
	return r.setPersonalTo(ctx, w)
}

// checkPeriod refuses an end before the beginning where the command sets one of
// the two: what is out of order already may be changed in everything else.
func checkPeriod(w *row, tr *typeRules) error {
	if tr.begin == nil || tr.end == nil {
		return nil
	}
	begin, hasBegin := w.get(tr.begin).(int64)
	end, hasEnd := w.get(tr.end).(int64)
	if !hasBegin || !hasEnd || end >= begin {
		return nil
	}
	for _, a := range [...]*meta.Attr{tr.begin, tr.end} {
		if w.creating() || w.cur.slots[a.Place.Slot] != w.before.slots[a.Place.Slot] {
			return invalid(tr.end)
		}
	}
	return nil
}

// setPersonalTo keeps Note.PersonalTo: the author while the note is personal.
func (r *run) setPersonalTo(ctx context.Context, w *row) error {
	to, ok := w.typ.Attr("PersonalTo")
	if !ok || !w.dirty || to.Place.Kind != meta.InLinks {
		return nil
	}
	flag, _ := w.typ.Attr("Personal")
	author, ok := w.typ.Attr("Author")
	if flag == nil || !ok {
		return nil
	}
	if w.get(flag) != true {
		return r.setRef(ctx, w, to, nil)
	}
	h, err := r.edgesFrom(ctx, w.typ, w.id, author.Place.Code)
	if err != nil {
		return err
	}
	l := h.one(author.Place.Code)
	if l == nil {
		return nil
	}
	t, ok, err := r.find(ctx, l.to)
	if err != nil || !ok {
		return err
	}
	return r.setRef(ctx, w, to, &t)
}
