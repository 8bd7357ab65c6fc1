package asset

import (
	"context"
	"strconv"

	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// unmake deletes an asset that the versions have created.
func (u *undoer) unmake(ctx context.Context) error {
	if u.w.cur.code == meta.StateDeleted {
		return nil
	}
	changed, err := u.changedSince(ctx)
	switch {
	case err != nil:
		return err
	case u.past.broken || changed:
		u.conflict(nil, u.past.last)
		return nil
	}
	return u.remove(ctx, 0)
}

// changedSince reports whether another request has changed the asset since. An earlier command of this
// request may also have changed it, for example by moving the asset of which it is a part.
func (u *undoer) changedSince(ctx context.Context) (bool, error) {
	if int64(u.w.stored.moment) == u.past.last || !u.s.ownWrite(u.w.stored.audit) {
		return int64(u.w.stored.moment) != u.past.last, nil
	}
	in, own := db.InArgs(append([]int64{u.s.audit}, u.s.undoSteps...))
	n, err := db.Column[int64](ctx, u.s.tx, `SELECT COUNT(*) FROM asset_version WHERE id = ? AND moment > ? AND audit_id NOT IN `+in,
		append([]any{u.w.id, u.past.last}, own...)...)
	return err != nil || n[0] > 0, err
}

// remove deletes the asset with its operation Delete, if it has no parts and nothing is below it. Assets that
// were there at the moment since do not count, unless since is 0.
func (u *undoer) remove(ctx context.Context, since int64) error {
	found, err := u.findObstacle(ctx, since)
	switch {
	case err != nil:
		return err
	case found.moment != 0:
		u.conflict(nil, u.past.last).by = found.moment
		return nil
	case found.hidden:
		u.result.Hidden++
		return nil
	}
	const name = "Delete"
	op, ok := u.w.typ.Op(name)
	switch {
	case !ok:
		return UnknownOp(u.w.typ.Name, name)
	case needsQueries[op.Effect.Code] && u.loaded.several:
		return errSplit
	}
	was := u.w.cur.code
	if _, err := u.operations.run(ctx, u.w, &Command{Verb: Operate, Op: name}); err != nil {
		return err
	}
	u.describeState(was, op.Effect.To)
	return nil
}

// obstacle is an asset that prevents a deletion: a part of the asset to be deleted, or an asset below it.
type obstacle struct {
	moment int64 // moment of its current version; 0: the caller sees no such asset
	hidden bool  // there is an asset that the caller does not see
}

// findObstacle returns an asset that prevents the deletion, one that the caller sees if there is one. So an answer does
// not depend on hidden assets beside it. See remove for the parameter since.
func (u *undoer) findObstacle(ctx context.Context, since int64) (found obstacle, err error) {
	parts, err := u.liveParts(ctx, since)
	if err != nil {
		return found, err
	}
	if found, err = u.firstSeen(ctx, found, parts); err != nil || found.moment != 0 {
		return found, err
	}
	var slots []int
	for _, h := range u.w.typ.Hierarchies {
		if h.Up.Place.Kind == meta.InColumn {
			slots = append(slots, h.Up.Place.Slot)
		}
	}
	if u.w.typ.Secured.Self {
		slots = append(slots, u.s.e.layout.scope)
	}
	for _, slot := range slots {
		if found, err = u.findBelow(ctx, found, slot, since); err != nil || found.moment != 0 {
			return found, err
		}
	}
	return found, nil
}

// firstSeen returns the first of some assets that the caller sees. Otherwise it returns found, and notes the assets that
// the caller does not see.
func (u *undoer) firstSeen(ctx context.Context, found obstacle, all []versionAt) (obstacle, error) {
	for _, v := range all {
		t, err := u.seen(ctx, v.id)
		if err != nil || t != nil {
			return obstacle{moment: v.moment}, err
		}
		found.hidden = true
	}
	return found, nil
}

// liveParts returns the parts of the asset that are not deleted. See remove for the parameter since.
func (u *undoer) liveParts(ctx context.Context, since int64) (all []versionAt, err error) {
	if err := u.loaded.loadParts(ctx, []int64{u.w.id}, u.loaded.several); err != nil {
		return nil, err
	}
	for _, rule := range u.s.e.layout.partRules(u.w.typ, "Delete") {
		for _, part := range u.loaded.parts[u.w.id] {
			was := part.stored != nil && u.wasThere(part.id, int64(part.stored.moment), part.stored.audit, since)
			if part.typ != rule.part || u.loaded.rows[part.id] != part || part.cur.code == meta.StateDeleted || was {
				continue
			}
			at, err := u.loaded.pointsTo(ctx, part, rule.relation)
			if err != nil {
				return nil, err
			}
			if at == u.w.id {
				all = append(all, versionAt{part.id, int64(part.cur.moment)})
			}
		}
	}
	return all, nil
}

// wasThere reports whether an asset has not changed since a moment, except by this request. moment and audit
// are those of its current version.
func (u *undoer) wasThere(id, moment, audit, since int64) bool {
	return since != 0 && (moment <= since || u.s.ownWrite(audit) || u.s.undoes[id])
}

// findBelow does the same as findObstacle for the assets that refer to the asset in one column: those below it in a
// tree, or in the project that the asset is.
func (u *undoer) findBelow(ctx context.Context, found obstacle, slot int, since int64) (obstacle, error) {
	const page = 100
	query := `SELECT id, moment, audit_id FROM asset WHERE ` + u.s.e.layout.Slots[slot].Name + ` = ? AND state < ? AND id > ? ORDER BY id LIMIT ` + strconv.Itoa(page)
	for after := noID; ; {
		n := 0
		var all []versionAt
		err := db.Each(ctx, u.s.tx, query, []any{u.w.id, meta.StateDeleted, after}, func(scan db.Scanner) error {
			var at, audit int64
			n++
			if err := scan.Scan(&after, &at, &audit); err != nil {
				return err
			}
			w := u.loaded.rows[after] // the batch may have deleted or moved it
			gone := w != nil && (w.cur.code == meta.StateDeleted || w.cur.Slots[slot] != any(u.w.id))
			if after != u.w.id && !gone && !u.wasThere(after, at, audit, since) {
				all = append(all, versionAt{after, at})
			}
			return nil
		})
		if err != nil {
			return found, err
		}
		if found, err = u.firstSeen(ctx, found, all); err != nil || found.moment != 0 || n < page {
			return found, err
		}
		if err := u.proceed(ctx); err != nil {
			return found, err
		}
	}
}
