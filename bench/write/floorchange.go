package main

import (
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

const (
	copied = `type, state, moment, audit_id, created_moment, created_at, created_by, changed_at, changed_by, name, number,
		description, scope_id, parent_id, super_id, timebox_id, team_id, status_id, priority_id, source_id, category_id,
		order_key, estimate, todo, detail_estimate, value, begin_date, end_date, attrs`

	newVersions = `INSERT INTO asset_version (id, ` + copied + `, until_moment, linked)
		SELECT id, ` + copied + `, 9223372036854775807, 0 FROM asset WHERE `

	ended = ` AND v.until_moment = 9223372036854775807`
)

// change changes all stories of a project with set-based statements. n must be the number of
// these stories.
func (h *hand) change(ctx context.Context, scope int64, n int, set string, value int) error {
	return h.db.Write(ctx, func(tx *db.Tx) error {
		audit, err := advance(ctx, tx, "audit", 1)
		if err != nil {
			return err
		}
		s, err := take(ctx, tx, n, 0)
		if err != nil {
			return err
		}
		if err := h.audit(ctx, tx, audit, s, n); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE asset a JOIN (SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS nth FROM asset
			WHERE scope_id = ? AND type = 4 AND state <> 255) r ON r.id = a.id
			SET a.moment = ? + r.nth, a.audit_id = ?, a.changed_at = ?, a.changed_by = ?, a.`+set,
			scope, s.moment-1, audit, s.at, admin, value)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE asset a JOIN asset_version v ON v.id = a.id SET v.until_moment = a.moment
			WHERE a.scope_id = ? AND a.audit_id = ?`+ended, scope, audit)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, newVersions+`scope_id = ? AND audit_id = ?`, scope, audit)
		return err
	})
}

// createOne creates a story. It reserves the moment in a separate transaction.
func (h *hand) createOne(ctx context.Context) error {
	id, err := h.ids(ctx, 1)
	if err != nil {
		return err
	}
	return h.db.Write(ctx, func(tx *db.Tx) error {
		var scope int64
		if err := tx.QueryRow(ctx, `SELECT id FROM asset WHERE id = 0 AND state < 255 LOCK IN SHARE MODE`).Scan(&scope); err != nil {
			return err
		}
		s, audit, err := h.takeOne(ctx, 1)
		if err != nil {
			return err
		}
		if err := insert(ctx, tx, 1, 0, func(row []any, i int) { storyRow(row, s, audit, id, i) }); err != nil {
			return err
		}
		return h.audit(ctx, tx, audit, s, 1)
	})
}

// takeOne reserves one moment in a short transaction. It derives the id of the write in the table
// audit from the moment, because each moment belongs to one write.
func (h *hand) takeOne(ctx context.Context, numbers int) (s stamp, audit int64, err error) {
	err = h.db.Small(ctx, func(tx *db.Tx) error {
		s, err = take(ctx, tx, 1, numbers)
		return err
	})
	return s, audits + s.moment, err
}

// audits is larger than all ids in the table audit that come from the sequence. An id above it
// is audits plus a moment.
const audits = 1 << 40

// updateOne changes a story. It reserves the moment in a separate transaction.
func (h *hand) updateOne(ctx context.Context, id int64, estimate int) error {
	return h.db.Write(ctx, func(tx *db.Tx) error {
		var was int64
		if err := tx.QueryRow(ctx, `SELECT moment FROM asset WHERE id = ? AND state < 255 FOR UPDATE`, id).Scan(&was); err != nil {
			return err
		}
		s, audit, err := h.takeOne(ctx, 0)
		if err != nil {
			return err
		}
		return h.update(ctx, tx, id, was, estimate, s, audit)
	})
}

// updateAtOnce changes a story in a single transaction.
func (h *hand) updateAtOnce(ctx context.Context, id int64, estimate int) error {
	return h.db.Write(ctx, func(tx *db.Tx) error {
		var was int64
		if err := tx.QueryRow(ctx, `SELECT moment FROM asset WHERE id = ? AND state < 255 FOR UPDATE`, id).Scan(&was); err != nil {
			return err
		}
		s, err := take(ctx, tx, 1, 0)
		if err != nil {
			return err
		}
		return h.update(ctx, tx, id, was, estimate, s, audits+s.moment)
	})
}

func (h *hand) update(ctx context.Context, tx *db.Tx, id, was int64, estimate int, s stamp, audit int64) error {
	_, err := tx.Exec(ctx, `UPDATE asset SET moment = ?, audit_id = ?, changed_at = ?, changed_by = ?, estimate = ? WHERE id = ?`,
		s.moment, audit, s.at, admin, estimate, id)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE asset_version SET until_moment = ? WHERE id = ? AND moment = ?`, s.moment, id, was); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, newVersions+`id = ?`, id); err != nil {
		return err
	}
	return h.audit(ctx, tx, audit, s, 1)
}
