package requests

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
)

// isPlan is the value of body_hash in the rows of plans. Other rows have hexadecimal digits.
const isPlan = "plan"

// Limits of the plans of one member, together. A further plan replaces the oldest ones.
const (
	maxPlans     = 100
	maxPlansSize = 64 << 20 // bytes, as they are stored
)

// Plan is a stored plan.
type Plan struct {
	Request []byte
	Effect  []byte // what the request would have changed; empty if the plan is carried out
	Done    bool   // the plan is carried out, and Answer is its answer
	Answer  []byte
	Expires time.Time // UTC

	store *Store
	id    string
}

// Plan stores a plan of a member for a time. It returns the id of the plan.
// Errors: fault.Invalid if the request or its effect is too large to be stored.
func (s *Store) Plan(ctx context.Context, member int64, request, effect []byte, keep time.Duration) (id string, expires time.Time, err error) {
	row := requestRow{ID: uuid.NewString(), Status: planned, ActorID: member, BodyHash: isPlan}
	if row.Request, err = compress(request); err == nil {
		row.Answer, err = compress(effect)
	}
	if err != nil {
		return "", expires, err
	}
	now := time.Now()
	expires = now.Add(keep)
	row.CreatedAt, row.ExpiresAt = now.UnixMicro(), expires.UnixMicro()
	err = s.db.Write(ctx, func(tx *db.Tx) error {
		if err := s.replace(ctx, tx, member, len(row.Request)+len(row.Answer)); err != nil {
			return err
		}
		return tx.Gorm().Create(&row).Error
	})
	return row.ID, expires, err
}

// replace deletes the oldest plans of a member, so that there is room for one more of size bytes.
func (s *Store) replace(ctx context.Context, tx *db.Tx, member int64, size int) error {
	query := `SELECT id, COALESCE(LENGTH(request), 0) + COALESCE(LENGTH(answer), 0) FROM bulk_request WHERE actor_id = ? AND status = ?` +
		` ORDER BY created_at DESC, id`
	var old []string
	count := 1
	err := db.Each(ctx, tx, query, []any{member, planned}, func(scan db.Scanner) error {
		var id string
		var n int
		if err := scan.Scan(&id, &n); err != nil {
			return err
		}
		count++
		if size += n; count > maxPlans || size > s.MaxPlansSize {
			old = append(old, id)
		}
		return nil
	})
	if err == nil && len(old) > 0 {
		err = tx.Gorm().Delete(&requestRow{}, "id IN ?", old).Error
	}
	return err
}

// FindPlan returns a plan of a member by its id. The uncompressed sizes are added to the memory reservation of
// ctx.
// Errors: fault.NotFound if the member has no such plan, or if it has expired; those of memory.Hold.
func (s *Store) FindPlan(ctx context.Context, member int64, id string) (*Plan, error) {
	none := fault.NotFoundf("There is no such plan")
	if uuid.Validate(id) != nil {
		return nil, none
	}
	var row requestRow
	err := s.db.Gorm(ctx).Where("id = ? AND actor_id = ? AND body_hash = ? AND expires_at > ?", id, member, isPlan, time.Now().UnixMicro()).Take(&row).Error
	if fault.KindOf(err) == fault.NotFound {
		return nil, none
	}
	if err != nil {
		return nil, err
	}
	p := &Plan{Done: row.Status == answered, Expires: time.UnixMicro(row.ExpiresAt).UTC(), store: s, id: id}
	if p.Request, err = decompress(ctx, row.Request); err != nil {
		return nil, err
	}
	text, err := decompress(ctx, row.Answer)
	if p.Done {
		p.Answer = text
	} else {
		p.Effect = text
	}
	return p, err
}

// End stores the answer of a plan in the transaction that has carried it out, and replaces its request by a
// shorter text. It must be the last statement of the transaction.
// Errors: ErrDuplicate if the plan was carried out meanwhile; fault.Invalid if the answer is too large.
func (p *Plan) End(tx *db.Tx, request, answer []byte) error {
	stored, err := compress(answer)
	if err != nil {
		return err
	}
	done := tx.Gorm().Model(&requestRow{}).Where("id = ? AND status = ?", p.id, planned).Updates(map[string]any{
		"status": answered, "answer": stored, "request": request, "expires_at": time.Now().Add(p.store.Retention).UnixMicro(),
	})
	if done.Error == nil && done.RowsAffected == 0 {
		return ErrDuplicate
	}
	return done.Error
}
