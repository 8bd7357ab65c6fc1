package asset

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/alds-dev/alds/internal/access/auth"
	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/model/meta"
	"github.com/alds-dev/alds/internal/store/db"
)

// seedRequest is the request id of the audit of moment 0, which contains well-known assets.
const seedRequest = "00000000-0000-0000-0000-000000000000"

// Seed adds the well-known assets of the model that a database lacks, at moment 0. It then sets
// attributes that existing well-known assets have never had, and updates the rows that describe the
// model; each is a separate write. It does not undo changes that members have made. A second call
// changes nothing.
func Seed(ctx context.Context, d *db.DB, m *meta.Model) error {
	if err := insertMissing(ctx, d, m); err != nil {
		return err
	}
	if err := completeInstances(ctx, d, m); err != nil {
		return err
	}
	return seedMetadata(ctx, d, m)
}

// insertMissing inserts the well-known assets that have no row.
func insertMissing(ctx context.Context, d *db.DB, m *meta.Model) error {
	return d.Write(ctx, func(tx *db.Tx) error {
		e := &Engine{db: d, model: m, layout: newLayout(m, 0, d.Dialect)}
		s := &Session{e: e, tx: tx, who: auth.System, aliases: map[string]*Handle{}}
		x := s.newExecutor()
		missing, err := x.withoutRow(ctx, m.Instances)
		if err != nil {
			return err
		}
		if missing, err = x.withoutName(ctx, missing); err != nil || len(missing) == 0 {
			return err
		}
		if err := seedAudit(ctx, tx); err != nil {
			return err
		}
		for _, in := range missing { // all rows come first, because they may refer to each other
			x.seedRow(in)
		}
		for _, in := range missing {
			if err := x.fillInstance(ctx, in); err != nil {
				return fmt.Errorf("%s:%d: %w", in.Type.Name, in.ID, err)
			}
		}
		return x.writeSeed(ctx)
	})
}

// withoutRow returns the instances that have no row yet.
func (x *executor) withoutRow(ctx context.Context, all []meta.Instance) ([]meta.Instance, error) {
	ids := make([]int64, 0, len(all))
	for _, in := range all {
		ids = append(ids, in.Type.Stored(in.ID))
	}
	if err := x.loaded.loadReferences(ctx, x.loaded.unknown(ids)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(in meta.Instance) bool {
		_, there := x.loaded.references[in.Type.Stored(in.ID)]
		return there
	}), nil
}

// seedAudit inserts the audit of moment 0 if it does not exist. It needs no fan-out.
func seedAudit(ctx context.Context, tx *db.Tx) error {
	var id int64
	err := tx.QueryRow(ctx, `SELECT id FROM audit WHERE id = 0`).Scan(&id)
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO audit`+
		` (id, request_id, actor_id, at, first_moment, last_moment, generation, fan_state)`+
		` VALUES (0, ?, ?, `+tx.Dialect().NowMicros+`, 0, 0, 0, 1)`, seedRequest, auth.SystemMember)
	return err
}

// seedRow adds the row of an instance, without values yet.
func (x *executor) seedRow(in meta.Instance) {
	id := in.Type.Stored(in.ID)
	w := x.changes.newRow(in.Type, id)
	w.dirty = false
	x.changes.made = append(x.changes.made, w)
	delete(x.loaded.missing, id)
	w.latest = &version{row: w, state: w.cur}
	x.changes.versions = append(x.changes.versions, w.latest)
}

// fillInstance sets the values of an instance, and what depends on them.
func (x *executor) fillInstance(ctx context.Context, in meta.Instance) error {
	w := x.loaded.rows[in.Type.Stored(in.ID)]
	for _, name := range slices.Sorted(maps.Keys(in.Attrs)) {
		a, ok := in.Type.Attr(name)
		if !ok {
			return unknownAttr(in.Type, name)
		}
		if err := x.set.setDefault(ctx, w, a, in.Attrs[name]); err != nil {
			return err
		}
	}
	if w.typ.Secured.Self {
		if err := x.set.members.addScope(ctx, w); err != nil {
			return err
		}
	}
	return x.set.deriveValues(ctx, w)
}

// writeSeed writes all changes at moment 0, as the system member. It sets no logins.
func (x *executor) writeSeed(ctx context.Context) error {
	x.changes.logins = nil
	x.changes.dateChanges()
	var at int64
	if err := x.s.tx.QueryRow(ctx, `SELECT `+x.s.e.db.Dialect.NowMicros).Scan(&at); err != nil {
		return err
	}
	at -= at % 1000
	for _, w := range x.changes.made {
		w.cur.createdAt, w.cur.createdBy, w.cur.linked = instant(at), auth.SystemMember, w.links > 0
		w.cur.changedAt, w.cur.changedBy = instant(at), auth.SystemMember
	}
	w := &writer{
		s: x.s, tx: x.s.tx, later: x.s.tx.Later(), layout: x.s.e.layout, changes: x.changes,
		at: at, audit: int64(0), who: auth.SystemMember,
	}
	for _, step := range []func(context.Context) error{w.inserts, w.versions, w.edges, w.scopes, w.roles} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
