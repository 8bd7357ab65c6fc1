package inbound

import "github.com/prometheus/client_golang/prometheus"

// Registerer is the type of the registry for the metrics of this package.
type Registerer = prometheus.Registerer

type metrics struct {
	accepted prometheus.Counter
	evicted  prometheus.Counter
	refused  *prometheus.CounterVec
}

// newMetrics returns metrics. It registers them with r unless r is nil.
func newMetrics(r Registerer, open func() int) *metrics {
	m := &metrics{
		accepted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_inbound_connections_total",
			Help: "Accepted client connections.",
		}),
		evicted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_inbound_evicted_total",
			Help: "Client connections that were closed to make room for others, because they were idle " +
				"or their request had been answered.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_inbound_refused_total",
			Help: "Refused client connections, by reason: too many connections in total (all), too many " +
				"of one address (address), or no free file descriptor or memory (shortage).",
		}, []string{"bound"}),
	}
	for _, bound := range []string{"all", "address", "shortage"} {
		m.refused.WithLabelValues(bound)
	}
	if r != nil {
		r.MustRegister(m.accepted, m.evicted, m.refused, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "alds_inbound_connections",
			Help: "Open client connections.",
		}, func() float64 { return float64(open()) }))
	}
	return m
}
