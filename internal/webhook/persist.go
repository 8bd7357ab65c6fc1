package webhook

import (
	"context"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/delivery"
)

// persist makes a chunk's fan-out final, in one transaction: first the mark
// under the claim, which fails when somebody else has the audits by now, then
// the deliveries.
func (w *Worker) persist(ctx context.Context, c *chunk) error {
	var batch *delivery.Batch
	err := w.db.Write(ctx, func(tx *db.Tx) error {
		batch = nil
		err := mark(ctx, tx, c)
		if err == nil && len(c.deliveries) > 0 {
			batch, err = w.sender.Insert(ctx, tx, c.deliveries)
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.last {
		w.metrics.audits.WithLabelValues("done").Add(float64(len(c.audits)))
	} else {
		c.audits[0].fanned = c.upTo
	}
	if batch != nil {
		w.sender.Give(batch)
	}
	return nil
}

// mark moves the fanned-out mark of the chunk's audits.
func mark(ctx context.Context, tx *db.Tx, c *chunk) error {
	in, args := db.InArgs(auditIDs(c.audits))
	owner := c.audits[0].owner
	set, first := "fan_state = 1, fan_moment = last_moment, fan_claims = 0, fan_error = NULL", []any(nil)
	if !c.last {
		set, first = "fan_moment = ?", []any{c.upTo}
	}
	args = append(append(first, args...), owner)
	res, err := tx.Exec(ctx, "UPDATE audit SET "+set+" WHERE id IN "+in+" AND fan_owner = ? AND fan_state = 0", args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err == nil && int(n) != len(c.audits) {
		err = errLost
	}
	return err
}
