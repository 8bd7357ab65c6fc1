package asset

import "context"

// propagate copies changed values to the dependents of the touched assets, and from these to
// their own dependents.
func (u unit) propagate(ctx context.Context) error {
	for i := 0; i < len(u.changes.touched); i++ { // updateDependent appends to touched
		w := u.changes.touched[i]
		if !w.creating() {
			if !u.sourceChanged(w) {
				continue
			}
			if err := u.loaded.loadDependents(ctx, []int64{w.id}); err != nil {
				return err
			}
		}
		for _, dependent := range u.loaded.dependents[w.id] {
			if u.loaded.rows[dependent.id] != dependent { // the command that created the dependent has failed
				continue
			}
			if err := u.proceed(ctx); err != nil {
				return err
			}
			if err := u.updateDependent(ctx, w, dependent); err != nil {
				return err
			}
		}
	}
	return nil
}

// sourceChanged reports whether the current command has changed a slot of w that other assets
// copy.
func (u unit) sourceChanged(w *row) bool {
	for _, slot := range u.s.e.layout.copiedSlots {
		if w.cur.Slots[slot] != w.before.Slots[slot] {
			return true
		}
	}
	return false
}

// updateDependent copies changed values of w to a dependent, if the dependent still copies
// from w.
func (u unit) updateDependent(ctx context.Context, w, dependent *row) error {
	for _, rule := range u.s.e.layout.types[dependent.typ].sources {
		source, err := u.loaded.pointsTo(ctx, dependent, rule.relation)
		if err != nil {
			return err
		}
		if source != w.id {
			continue
		}
		for _, slot := range rule.slots {
			if dependent.cur.Slots[slot] != w.cur.Slots[slot] {
				u.changes.touch(dependent)
				dependent.setSlot(slot, w.cur.Slots[slot])
			}
		}
	}
	return nil
}
