package webhook

import (
	"context"
	"time"
)

// Sweep makes good whatever wake-up was lost: it fans out what waits and wakes
// a lane for every subscription with deliveries that are due.
func (w *Worker) Sweep(ctx context.Context) error {
	if err := w.measure(ctx); err != nil {
		return err
	}
	if err := w.FanOut(ctx); err != nil {
		return err
	}
	return w.sender.Sweep(ctx)
}

// measure keeps the gauges of the backlog.
func (w *Worker) measure(ctx context.Context) error {
	var n, oldest int64
	err := w.db.QueryRow(ctx, "SELECT COUNT(*), COALESCE(MIN(at), 0) FROM audit WHERE fan_state = 0").Scan(&n, &oldest)
	if err != nil {
		return err
	}
	age := 0.0
	if n > 0 {
		age = max(0, time.Since(time.UnixMicro(oldest)).Seconds())
	}
	w.metrics.backlog.Set(float64(n))
	w.metrics.backlogAge.Set(age)
	return nil
}
