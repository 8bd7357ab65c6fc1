package delivery

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/lease"
)

// Registerer registers the metrics of this package.
type Registerer = prometheus.Registerer

// metrics are the metrics of this package. Every process registers all of them, so that one
// dashboard works for every process.
type metrics struct {
	due          prometheus.Gauge
	dueCount     *prometheus.GaugeVec
	dueAge       *prometheus.GaugeVec
	deliveries   *prometheus.CounterVec
	events       prometheus.Counter
	attempts     *prometheus.CounterVec
	attemptTime  *prometheus.HistogramVec
	latency      prometheus.Histogram
	queues       prometheus.Gauge
	breakers     *prometheus.GaugeVec
	failing      *prometheus.GaugeVec
	waiting      *prometheus.GaugeVec
	waitingAge   *prometheus.GaugeVec
	lost         prometheus.Counter
	pruned       *prometheus.CounterVec
	recordErrors prometheus.Counter
}

func newMetrics(r Registerer) *metrics {
	m := &metrics{
		due: gauge(r, "due_subscriptions", "Subscriptions with deliveries that are due and not claimed."),
		dueCount: gauges(r, "due_deliveries",
			"Due deliveries of a subscription, counted up to 10,000. Only for the 50 subscriptions "+
				"that are furthest behind; paused and failing subscriptions are not included.", "subscription", "name"),
		dueAge: gauges(r, "due_age_seconds",
			"Time since the oldest due delivery of a subscription became due. For the same "+
				"subscriptions as alds_delivery_due_deliveries.", "subscription", "name"),
		deliveries: counters(r, "deliveries_total",
			"Deliveries that ended, by outcome: delivered, exhausted (all attempts failed), gone (the "+
				"receiver answered 410) or set_aside.", "outcome"),
		events: counter(r, "events_delivered_total", "Events that receivers accepted."),
		attempts: counters(r, "attempts_total",
			"Requests sent to receivers, by outcome: delivered, refused, timeout or unreachable.", "outcome"),
		attemptTime: histograms(r, "attempt_duration_seconds",
			"Duration of requests to receivers, by outcome.", "outcome"),
		latency: histogram(r, "latency_seconds",
			"Time from the commit of a change, or from the request to deliver it again, to the "+
				"acceptance by the receiver. Only for first attempts."),
		queues: gauge(r, "lanes", "Subscriptions whose queue of deliveries runs in this process."),
		breakers: gauges(r, "breakers",
			"Subscriptions whose circuit breaker is open or half_open (the backoff has ended).", "state"),
		failing: gauges(r, "failing_subscriptions",
			"Failed attempts in a row of a subscription. Only for the 50 subscriptions with the most.",
			"subscription", "name"),
		waiting: gauges(r, "waiting_deliveries",
			"Waiting deliveries, by reason: turn (due or claimed), asset (an earlier delivery of the "+
				"asset), retry, resting (the circuit breaker is open), paused.", "why"),
		waitingAge: gauges(r, "waiting_age_seconds",
			"Age of the oldest change in waiting deliveries, by reason.", "why"),
		lost:         counter(r, "leases_lost_total", "Claims that expired before their work ended."),
		pruned:       counters(r, "pruned_total", "Rows removed after their retention, by table.", "table"),
		recordErrors: counter(r, "record_errors_total", "Failed attempts to store a group of results."),
	}
	begin(m.deliveries, "delivered", "exhausted", "gone", "set_aside")
	begin(m.attempts, "delivered", "refused", "timeout", "unreachable")
	begin(m.pruned, "webhook_delivery", "webhook_payload", "webhook_receipt")
	return m
}

// begin creates counters with the value 0. Otherwise a counter would first appear with the value 1,
// and monitoring would not see this increase.
func begin(counters *prometheus.CounterVec, labels ...string) {
	for _, l := range labels {
		counters.WithLabelValues(l)
	}
}

const namespace, subsystem = "alds", "delivery"

// buckets are in seconds. The largest bucket is longer than the default timeout of a request.
var buckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func gauge(r Registerer, name, help string) prometheus.Gauge {
	return promauto.With(r).NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

func gauges(r Registerer, name, help string, labels ...string) *prometheus.GaugeVec {
	return promauto.With(r).NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, labels)
}

func counter(r Registerer, name, help string) prometheus.Counter {
	return promauto.With(r).NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

func counters(r Registerer, name, help, label string) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, []string{label})
}

func histogram(r Registerer, name, help string) prometheus.Histogram {
	return promauto.With(r).NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
}

func histograms(r Registerer, name, help, label string) *prometheus.HistogramVec {
	return promauto.With(r).NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets}, []string{label})
}

// maxFailing is the maximum number of failing subscriptions that have a gauge of their own.
const maxFailing = 50

// measureFailing updates the gauges of circuit breakers, and the gauges of the subscriptions with
// the most failures in a row.
func (s *Sender) measureFailing(ctx context.Context) error {
	s.metrics.failing.Reset()
	open, halfOpen, shown := 0, 0, 0
	err := db.Each(ctx, s.db, `SELECT id, COALESCE(NULLIF(webhook_id, ''), id), failures_in_row, breaker_state, CASE WHEN breaker_until > `+s.db.Dialect.NowMicros+
		` THEN 1 ELSE 0 END FROM webhook_subscription WHERE enabled = 1 AND failures_in_row > 0 ORDER BY failures_in_row DESC`, nil,
		func(row db.Scanner) error {
			var id, name string
			var failures, state int
			var backingOff bool
			err := row.Scan(&id, &name, &failures, &state, &backingOff)
			switch {
			case backingOff:
				open++
			case state == breakerOpen:
				halfOpen++
			}
			if shown++; shown <= maxFailing {
				s.metrics.failing.WithLabelValues(id, name).Set(float64(failures))
			}
			return err
		})
	s.metrics.breakers.WithLabelValues("open").Set(float64(open))
	s.metrics.breakers.WithLabelValues("half_open").Set(float64(halfOpen))
	return err
}

// maxBehind is the maximum number of subscriptions whose due deliveries have separate gauges.
const maxBehind = 50

// failingAfter is a number of failures in a row. measureDue skips subscriptions with at least this
// number. Their deliveries are late because their receivers fail, and the gauge
// failing_subscriptions shows this.
const failingAfter = 3

// measureDueEvery is the interval at which a sender updates the gauges of due deliveries.
const measureDueEvery = 10 * time.Second

// mayMeasureDue reports whether the last measurement was at least measureDueEvery ago. In this case
// it stores the parameter now as the time of the last measurement.
func (s *Sender) mayMeasureDue(now time.Time) bool {
	last := s.measured.Load()
	return now.UnixNano()-last >= int64(measureDueEvery) && s.measured.CompareAndSwap(last, now.UnixNano())
}

// measureDue updates the gauges of due deliveries, for the maxBehind subscriptions that are
// furthest behind. It skips subscriptions that are paused, are failing or have an open circuit
// breaker. It reads one index entry for each subscription. For each of the maxBehind subscriptions
// it counts at most lease.MaxCounted deliveries.
func (s *Store) measureDue(ctx context.Context) error {
	type behind struct {
		id, name string
		age      float64
		count    int
	}
	now, err := s.Now(ctx, s.db)
	if err != nil {
		return err
	}
	all, err := db.Collect(ctx, s.db, `SELECT s.id, COALESCE(NULLIF(s.webhook_id, ''), s.id), w.due FROM (
			SELECT subscription_id, MIN(due) AS due FROM webhook_delivery WHERE state = 0 GROUP BY subscription_id
		) w JOIN webhook_subscription s ON s.id = w.subscription_id
		WHERE w.due <= ? AND s.enabled = 1 AND s.paused = 0 AND s.breaker_until <= ? AND s.failures_in_row < ? ORDER BY w.due LIMIT ?`,
		[]any{now, now, failingAfter, maxBehind}, func(row db.Scanner) (b behind, err error) {
			var due int64
			err = row.Scan(&b.id, &b.name, &due)
			b.age = float64(now-due) / 1e6
			return b, err
		})
	for i := range all {
		if err == nil {
			err = s.db.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT id FROM webhook_delivery WHERE state = 0 AND subscription_id = ? AND due <= ?
				ORDER BY state, subscription_id, due LIMIT ?) w`, all[i].id, now, lease.MaxCounted).Scan(&all[i].count)
		}
	}
	if err != nil {
		return err
	}
	s.metrics.dueCount.Reset()
	s.metrics.dueAge.Reset()
	for _, b := range all {
		s.metrics.dueCount.WithLabelValues(b.id, b.name).Set(float64(b.count))
		s.metrics.dueAge.WithLabelValues(b.id, b.name).Set(b.age)
	}
	return nil
}

// reasons are the values of the label why. They say why a delivery waits.
var reasons = []string{"turn", "asset", "retry", "resting", "paused"}

// measureWaiting updates the gauges of waiting deliveries.
func (s *Store) measureWaiting(ctx context.Context) error {
	now := s.db.Dialect.NowMicros
	for _, why := range reasons {
		s.metrics.waiting.WithLabelValues(why).Set(0)
		s.metrics.waitingAge.WithLabelValues(why).Set(0)
	}
	return db.Each(ctx, s.db, `SELECT why, COUNT(*), MIN(committed_at) FROM (
		SELECT CASE WHEN s.paused = 1 THEN 'paused' WHEN d.due = ? THEN 'asset' WHEN d.due > `+now+` THEN 'retry'
			WHEN s.breaker_until > `+now+` THEN 'resting' ELSE 'turn' END AS why, d.committed_at
		FROM webhook_delivery d JOIN webhook_subscription s ON s.id = d.subscription_id WHERE d.state = 0) w GROUP BY why`, []any{db.Forever},
		func(row db.Scanner) error {
			var why string
			var n, oldest int64
			err := row.Scan(&why, &n, &oldest)
			s.metrics.waiting.WithLabelValues(why).Set(float64(n))
			s.metrics.waitingAge.WithLabelValues(why).Set(max(0, time.Since(time.UnixMicro(oldest)).Seconds()))
			return err
		})
}
