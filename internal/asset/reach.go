package asset

import (
	"context"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/meta"
)

// deletion is how the life of a deleted asset ended: its last version that was
// not deleted, and the first of those that are.
type deletion struct {
	state           int   // before
	lastLive, since int64 // moments of the two versions
	audit           int64 // of the deletion
}

// deletedWith reports whether a part was deleted with its owner: by the same
// command, so in the same request and at a later moment, and not brought back
// since. Deleted on its own before, it has an earlier moment; brought back and
// deleted again, it lived at a later one.
func (e *deletion) deletedWith(owner *deletion) bool {
	return e != nil && owner != nil && e.audit == owner.audit && e.lastLive < owner.since && owner.since < e.since
}

// loadDeletions reads how assets were deleted that are.
func (r *run) loadDeletions(ctx context.Context, ids []int64) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id int64) bool {
		_, known := r.deletions[id]
		return known
	})
	for len(ids) > 0 {
		n := min(len(ids), db.MaxIn)
		for _, id := range ids[:n] {
			r.deletions[id] = nil
		}
		in, args := db.InArgs(ids[:n])
		ids = ids[n:]
		rows, err := r.s.tx.Query(ctx, `SELECT v.id, v.state, v.moment, d.moment, d.audit_id FROM asset_version v`+
			` JOIN asset_version d ON d.id = v.id AND d.moment = v.until_moment`+
			` WHERE v.id IN `+in+` AND v.state < ? AND d.state = ?`, append(args, stateDeleted, stateDeleted)...)
		if err != nil {
			return fmt.Errorf("load deletions: %w", err)
		}
		err = each(rows, func() error {
			var id int64
			e := &deletion{}
			if err := rows.Scan(&id, &e.state, &e.lastLive, &e.since, &e.audit); err != nil {
				return err
			}
			if old := r.deletions[id]; old == nil || old.since < e.since {
				r.deletions[id] = e
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("load deletions: %w", err)
		}
	}
	return nil
}

// partRule is a PartOf as the owner sees it.
type partRule struct {
	part     *meta.Type
	relation *meta.Attr
	ops      []string
}

// partRules returns the rules by which an operation on assets of a type reaches
// what belongs to them.
func (l *layout) partRules(t *meta.Type, op string) []partRule {
	var all []partRule
	for _, p := range l.parts {
		if p.relation.Reaches(t) && slices.Contains(p.ops, op) {
			all = append(all, p)
		}
	}
	return all
}

// errSplit says that the commands of a stretch reach more assets than are held
// in memory at once.
var errSplit = fault.Transientf(nil, "the commands reach too many assets at once")

// loadParts locks and loads what belongs to assets on which operations run that
// reach it; more than one command reaches no more than a stretch holds.
func (r *run) loadParts(ctx context.Context, owners []int64, several bool) error {
	owners = slices.DeleteFunc(slices.Clone(owners), func(id int64) bool {
		done := r.partsLoaded[id] || r.rows[id] != nil && r.rows[id].isNew
		r.partsLoaded[id] = true
		return done
	})
	var pairs []dependency
	for len(owners) > 0 {
		n := min(len(owners), db.MaxIn)
		for _, p := range r.e.layout.parts {
			found, err := r.partsBy(ctx, p, owners[:n])
			if err != nil {
				return fmt.Errorf("load what belongs: %w", err)
			}
			pairs = append(pairs, found...)
		}
		owners = owners[n:]
		switch {
		case several && len(pairs) > MaxBatch:
			return errSplit
		case r.e.MaxAssets > 0 && len(pairs) > r.e.MaxAssets:
			r.overLimit = true
			return TooManyAssets(r.e.MaxAssets)
		}
	}
	ids := make([]int64, len(pairs))
	for i, p := range pairs {
		ids[i] = p.dependent
	}
	if err := r.loadRows(ctx, slices.DeleteFunc(ids, func(id int64) bool { return r.rows[id] != nil })); err != nil {
		return err
	}
	for _, p := range pairs {
		if f := r.rows[p.dependent]; f != nil {
			r.parts[p.source] = append(r.parts[p.source], f)
		}
	}
	return nil
}

// partsBy finds what belongs to owners by one rule, in id order.
func (r *run) partsBy(ctx context.Context, p partRule, owners []int64) ([]dependency, error) {
	in, args := db.InArgs(owners)
	at := p.relation.Place
	query := `SELECT ` + at.Column + `, id FROM asset WHERE ` + at.Column + ` IN ` + in + ` AND type = ? ORDER BY id`
	args = append(args, p.part.Code)
	if at.Kind == meta.InLinks {
		query = `SELECT to_id, from_id FROM asset_link WHERE to_id IN ` + in + ` AND from_type = ? AND relation = ? AND until_moment = ? ORDER BY from_id`
		args = append(args, at.Code, forever)
	}
	rows, err := r.s.tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var all []dependency
	err = each(rows, func() error { return scanDependency(rows, &all) })
	return all, err
}

// operateOnParts runs an operation on what belongs to an asset, each as a change of its
// own, where its state fits; Undelete where it was deleted with the asset.
func (r *run) operateOnParts(ctx context.Context, w *row, op *meta.Op) error {
	rules := r.e.layout.partRules(w.typ, op.Name)
	if len(rules) == 0 {
		return nil
	}
	if err := r.loadParts(ctx, []int64{w.id}, false); err != nil {
		return err
	}
	if op.Effect.Back {
		if err := r.loadDeletions(ctx, r.deletedParts([]int64{w.id})); err != nil {
			return err
		}
	}
	var further []*row // parts that have parts
	for _, rule := range rules {
		for _, f := range r.parts[w.id] {
			if f.typ != rule.part || r.rows[f.id] != f {
				continue
			}
			at, err := r.pointsTo(ctx, f, rule.relation)
			if err != nil {
				return err
			}
			if at != w.id || !r.appliesToPart(w, f, op) {
				continue
			}
			if err := r.operateOnPart(ctx, f, op); err != nil {
				return err
			}
			if len(r.e.layout.partRules(f.typ, op.Name)) > 0 {
				further = append(further, f)
			}
		}
	}
	return r.operateOnPartsOf(ctx, further, op)
}

// operateOnPartsOf runs an operation on what belongs to assets that it has reached.
func (r *run) operateOnPartsOf(ctx context.Context, owners []*row, op *meta.Op) error {
	ids := make([]int64, len(owners))
	for i, f := range owners {
		ids[i] = f.id
	}
	if err := r.loadParts(ctx, ids, false); err != nil {
		return err
	}
	for _, f := range owners {
		if err := r.operateOnParts(ctx, f, op); err != nil {
			return err
		}
	}
	return nil
}

// appliesToPart reports whether an operation on w runs on its part f, too.
func (r *run) appliesToPart(w, f *row, op *meta.Op) bool {
	if !runsInState(op, f.cur.code) {
		return false
	}
	return !op.Effect.Back || r.deletions[f.id].deletedWith(r.deletions[w.id])
}

// operateOnPart does to a part what an operation does to its owner.
func (r *run) operateOnPart(ctx context.Context, f *row, op *meta.Op) error {
	r.changes.touch(f)
	r.changes.parts++
	if op.Effect.Back {
		if err := r.restore(ctx, f); err != nil {
			return err
		}
	} else {
		f.setState(op.Effect.To)
	}
	f.cur.partOp = op.Name
	return nil
}

// alreadyApplied reports whether an operation has been run on an asset in this
// request already, with what it belongs to.
func (r *run) alreadyApplied(w *row, op *meta.Op) bool {
	return w.cur.partOp == op.Name && !runsInState(op, w.cur.code)
}

// deletedParts returns those of the loaded parts of owners that are deleted.
func (r *run) deletedParts(owners []int64) []int64 {
	var ids []int64
	for _, id := range owners {
		for _, f := range r.parts[id] {
			if f.cur.code == stateDeleted && !f.isNew {
				ids = append(ids, f.id)
			}
		}
	}
	return ids
}

// checkLimit reports whether the request has changed more assets than one may,
// those its operations reached included.
func (r *run) checkLimit() error {
	most, aside := r.e.MaxAssets, r.s.partsChanged+r.changes.parts
	if r.overLimit || most > 0 && aside > 0 && r.s.named+aside > most {
		return TooManyAssets(most)
	}
	return nil
}

// notePart notes that an asset has come to belong to another.
func (r *run) notePart(w *row, a *meta.Attr, to int64) {
	if p := w.typ.PartOf; p.Relation == a.Name {
		r.parts[to] = append(r.parts[to], w)
	}
}
