package delivery

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/alds-dev/alds/internal/db"
)

// Registerer is where the package's metrics go.
type Registerer = prometheus.Registerer

// metrics of this package. Every process registers them, so that one dashboard
// serves all.
type metrics struct {
	due          prometheus.Gauge
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
		due:          gauge(r, "due_subscriptions", "Subscriptions with deliveries that are due and not claimed."),
		deliveries:   counters(r, "deliveries_total", "Deliveries that ended, by outcome.", "outcome"),
		events:       counter(r, "events_delivered_total", "Events that receivers accepted."),
		attempts:     counters(r, "attempts_total", "Requests sent to receivers, by outcome.", "outcome"),
		attemptTime:  histograms(r, "attempt_duration_seconds", "Duration of requests to receivers, by outcome.", "outcome"),
		latency:      histogram(r, "latency_seconds", "From the commit of a change, or the request to deliver it again, to the answer of the receiver, first attempts only."),
		queues:       gauge(r, "lanes", "Subscriptions this process is delivering to."),
		breakers:     gauges(r, "breakers", "Subscriptions whose circuit breaker is open or half_open (its backoff is over).", "state"),
		failing:      gauges(r, "failing_subscriptions", "Failed attempts in a row of the subscriptions that fail most, by their webhookId.", "subscription", "name"),
		waiting:      gauges(r, "waiting_deliveries", "Deliveries that wait, by reason: turn, retry, resting, paused.", "why"),
		waitingAge:   gauges(r, "waiting_age_seconds", "Age of the oldest change in waiting deliveries, by reason.", "why"),
		lost:         counter(r, "leases_lost_total", "Claims that ended before their work did."),
		pruned:       counters(r, "pruned_total", "Rows removed after their retention, by table.", "table"),
		recordErrors: counter(r, "record_errors_total", "Attempts to store a group of results that failed."),
	}
	begin(m.deliveries, "delivered", "exhausted", "gone", "set_aside")
	begin(m.attempts, "delivered", "refused", "timeout", "unreachable")
	begin(m.pruned, "webhook_delivery", "webhook_payload", "webhook_receipt")
	return m
}

// begin counts from 0: the first time would be no growth, where nothing was before.
func begin(counters *prometheus.CounterVec, labels ...string) {
	for _, l := range labels {
		counters.WithLabelValues(l)
	}
}

const namespace, subsystem = "alds", "delivery"

// buckets are in seconds, up to more than the timeout of a request.
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

// maxFailing is how many failing subscriptions have a gauge of their own.
const maxFailing = 50

// measureFailing updates the gauges of receivers that fail.
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

// reasons are why deliveries wait.
var reasons = []string{"turn", "retry", "resting", "paused"}

// measureWaiting updates the gauges of waiting deliveries.
func (s *Store) measureWaiting(ctx context.Context) error {
	now := s.db.Dialect.NowMicros
	for _, why := range reasons {
		s.metrics.waiting.WithLabelValues(why).Set(0)
		s.metrics.waitingAge.WithLabelValues(why).Set(0)
	}
	return db.Each(ctx, s.db, `SELECT why, COUNT(*), MIN(committed_at) FROM (
		SELECT CASE WHEN s.paused = 1 THEN 'paused' WHEN d.due > `+now+` THEN 'retry'
			WHEN s.breaker_until > `+now+` THEN 'resting' ELSE 'turn' END AS why, d.committed_at
		FROM webhook_delivery d JOIN webhook_subscription s ON s.id = d.subscription_id WHERE d.state = 0) w GROUP BY why`, nil,
		func(row db.Scanner) error {
			var why string
			var n, oldest int64
			err := row.Scan(&why, &n, &oldest)
			s.metrics.waiting.WithLabelValues(why).Set(float64(n))
			s.metrics.waitingAge.WithLabelValues(why).Set(max(0, time.Since(time.UnixMicro(oldest)).Seconds()))
			return err
		})
}
