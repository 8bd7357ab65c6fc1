package webhook

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Registerer is where the package's metrics go.
type Registerer = prometheus.Registerer

// metrics of this package. Every process registers them, so that one dashboard
// serves all.
type metrics struct {
	backlogAge prometheus.Gauge
	backlog    prometheus.Gauge
	audits     *prometheus.CounterVec
	versions   prometheus.Counter
	decided    *prometheus.CounterVec
	matched    prometheus.Counter
	fanOutTime prometheus.Histogram
	lost       prometheus.Counter
	disabled   prometheus.Counter
}

func newMetrics(r Registerer) *metrics {
	return &metrics{
		backlogAge: gauge(r, "backlog_age_seconds", "Age of the oldest change that no worker has fanned out; 0 when there is none."),
		backlog:    gauge(r, "backlog_audits", "Writes waiting to be fanned out."),
		audits:     counters(r, "audits_total", "Writes fanned out, by outcome.", "outcome"),
		versions:   counter(r, "versions_total", "Versions that were matched."),
		decided:    counters(r, "filters_total", "Filters and userContexts evaluated on a change, by where (memory, sql).", "by"),
		matched:    counter(r, "events_matched_total", "Events made: one per change and subscription."),
		fanOutTime: histogram(r, "fanout_duration_seconds", "Duration of one fan-out."),
		lost:       counter(r, "leases_lost_total", "Claims that ended before their work did."),
		disabled:   counter(r, "subscriptions_disabled_total", "Subscriptions the service disabled."),
	}
}

const namespace, subsystem = "alds", "webhook"

// buckets are in seconds, up to more than the timeout of a request.
var buckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func gauge(r Registerer, name, help string) prometheus.Gauge {
	return promauto.With(r).NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
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
