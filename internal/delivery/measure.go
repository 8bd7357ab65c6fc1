package delivery

import (
	"context"
	"time"
)

// shownFailing is how many failing subscriptions a process names in its metrics.
const shownFailing = 50

// measureFailing keeps the gauges of receivers that fail.
func (s *Sender) measureFailing(ctx context.Context) error {
	rows, err := s.db.Query(ctx, `SELECT id, failures_in_row, breaker_state, CASE WHEN breaker_until > `+s.db.Dialect.NowMicros+
		` THEN 1 ELSE 0 END FROM webhook_subscription WHERE enabled = 1 AND failures_in_row > 0 ORDER BY failures_in_row DESC`)
	if err != nil {
		return err
	}
	defer rows.Close()
	s.metrics.failing.Reset()
	open, halfOpen, shown := 0, 0, 0
	for rows.Next() {
		var id string
		var failures, state int
		var resting bool
		if err := rows.Scan(&id, &failures, &state, &resting); err != nil {
			return err
		}
		switch {
		case resting:
			open++
		case state == breakerOpen:
			halfOpen++
		}
		if shown++; shown <= shownFailing {
			s.metrics.failing.WithLabelValues(id).Set(float64(failures))
		}
	}
	s.metrics.breakers.WithLabelValues("open").Set(float64(open))
	s.metrics.breakers.WithLabelValues("half_open").Set(float64(halfOpen))
	return rows.Err()
}

// whys are the reasons for which deliveries wait.
var whys = []string{"turn", "retry", "resting", "paused"}

// measureWaiting keeps the gauges of what waits.
func (s *Store) measureWaiting(ctx context.Context) error {
	now := s.db.Dialect.NowMicros
	rows, err := s.db.Query(ctx, `SELECT why, COUNT(*), MIN(committed_at) FROM (
		SELECT CASE WHEN s.paused = 1 THEN 'paused' WHEN d.due > `+now+` THEN 'retry'
			WHEN s.breaker_until > `+now+` THEN 'resting' ELSE 'turn' END AS why, d.committed_at
		FROM webhook_delivery d JOIN webhook_subscription s ON s.id = d.subscription_id WHERE d.state = 0) w GROUP BY why`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for _, why := range whys {
		s.metrics.waiting.WithLabelValues(why).Set(0)
		s.metrics.waitingAge.WithLabelValues(why).Set(0)
	}
	for rows.Next() {
		var why string
		var n, oldest int64
		if err := rows.Scan(&why, &n, &oldest); err != nil {
			return err
		}
		s.metrics.waiting.WithLabelValues(why).Set(float64(n))
		s.metrics.waitingAge.WithLabelValues(why).Set(max(0, time.Since(micros(oldest)).Seconds()))
	}
	return rows.Err()
}
