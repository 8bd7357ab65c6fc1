package history

import "github.com/prometheus/client_golang/prometheus"

// Registerer is where the metrics of this package are registered.
type Registerer = prometheus.Registerer

type metrics struct {
	removed *prometheus.CounterVec
	since   prometheus.Gauge
}

// newMetrics registers the metrics with r, which may be nil.
func newMetrics(r Registerer) *metrics {
	m := &metrics{
		removed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_history_removed_total", Help: "Removed rows of history, by table.",
		}, []string{"table"}),
		since: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "alds_history_since_timestamp_seconds",
			Help: "Time from which history is complete. 0: nothing was removed.",
		}),
	}
	if r != nil {
		r.MustRegister(m.removed, m.since)
	}
	m.count(removed{}) // creates the series
	return m
}

func (m *metrics) count(r removed) {
	for table, n := range map[string]int{
		"asset_version": r.versions, "asset_link": r.links, "audit": r.audits, "moment_stamp": r.stamps, "blob_content": r.contents,
	} {
		m.removed.WithLabelValues(table).Add(float64(n))
	}
}
