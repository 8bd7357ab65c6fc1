package webhook

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Registerer is the type of the registry for the metrics of this package.
type Registerer = prometheus.Registerer

// metrics are the metrics of this package, except for the metrics of Meter. Every process registers
// all of them, so that one dashboard works for all processes.
type metrics struct {
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
		audits: counters(r, "audits_total",
			"Fan-outs of writes, by outcome: done, unwanted (no subscription is enabled), failed (is "+
				"repeated) or set_aside (is not repeated).", "outcome"),
		versions: counter(r, "versions_total", "Versions of assets that were matched with subscriptions."),
		decided: counters(r, "filters_total",
			"Evaluations of filters and userContexts, by place: memory or sql.", "by"),
		matched:    counter(r, "events_matched_total", "Events created, one for each change and subscription."),
		fanOutTime: histogram(r, "fanout_duration_seconds", "Duration of one fan-out, of one or more writes."),
		lost:       counter(r, "leases_lost_total", "Claims that expired before their work ended."),
		disabled: counter(r, "subscriptions_disabled_total",
			"Subscriptions that the service disabled, because their receiver is gone or failed too often."),
	}
	for _, outcome := range []string{"done", "unwanted", "failed", "set_aside"} {
		m.audits.WithLabelValues(outcome) // begins at 0, because rates ignore the first value of a series
	}
	return m
}

// The metrics of a Meter. Every process exports the same values.
var (
	backlogAudits = prometheus.NewDesc("alds_webhook_backlog_audits",
		"Writes that wait for their fan-out, above 10,000 an estimate. Every process exports the same value.", nil, nil)
	backlogAge = prometheus.NewDesc("alds_webhook_backlog_age_seconds",
		"Age of the oldest write that waits for its fan-out. 0 if no write waits. "+
			"Every process exports the same value.", nil, nil)
)

const namespace, subsystem = "alds", "webhook"

// buckets are upper bounds in seconds.
var buckets = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func counter(r Registerer, name, help string) prometheus.Counter {
	return promauto.With(r).NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

func counters(r Registerer, name, help, label string) *prometheus.CounterVec {
	return promauto.With(r).NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, []string{label})
}

func histogram(r Registerer, name, help string) prometheus.Histogram {
	return promauto.With(r).NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help, Buckets: buckets})
}

// Describe sends the descriptions of the metrics. It implements prometheus.Collector.
func (*Meter) Describe(to chan<- *prometheus.Desc) {
	to <- backlogAudits
	to <- backlogAge
}

// Collect sends the last measurement, unless the measurement is older than meterKeeps. It
// implements prometheus.Collector.
func (m *Meter) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at.IsZero() || time.Since(m.at) > meterKeeps {
		return
	}
	to <- prometheus.MustNewConstMetric(backlogAudits, prometheus.GaugeValue, float64(m.last.audits))
	to <- prometheus.MustNewConstMetric(backlogAge, prometheus.GaugeValue, m.last.age.Seconds())
}
