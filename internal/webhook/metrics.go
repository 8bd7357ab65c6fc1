package webhook

import "github.com/prometheus/client_golang/prometheus"

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
	m := &metrics{
		backlogAge: gauge("backlog_age_seconds", "Age of the oldest change that no worker has fanned out; 0 when there is none."),
		backlog:    gauge("backlog_audits", "Writes waiting to be fanned out."),
		audits:     counters("audits_total", "Writes fanned out, by outcome.", "outcome"),
		versions:   counter("versions_total", "Versions that were matched."),
		decided:    counters("filters_total", "Filters and userContexts evaluated on a change, by where (memory, sql).", "by"),
		matched:    counter("events_matched_total", "Events made: one per change and subscription."),
		fanOutTime: histogram("fanout_duration_seconds", "Duration of one fan-out."),
		lost:       counter("leases_lost_total", "Claims that ended before their work did."),
		disabled:   counter("subscriptions_disabled_total", "Subscriptions the service disabled."),
	}
	if r != nil {
		r.MustRegister(m.backlogAge, m.backlog, m.audits, m.versions, m.decided, m.matched, m.fanOutTime, m.lost, m.disabled)
	}
	return m
}

const namespace, subsystem = "alds", "webhook"

// buckets are in seconds, up to more than the timeout of a request.
var buckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

func counters(name, help, label string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, []string{label})
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
}
