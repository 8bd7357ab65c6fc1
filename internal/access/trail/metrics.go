package trail

import "github.com/prometheus/client_golang/prometheus"

// Registerer registers the metrics of this package.
type Registerer = prometheus.Registerer

type metrics struct {
	noted   *prometheus.CounterVec
	dropped *prometheus.CounterVec
}

// newMetrics registers the metrics with r, which may be nil.
func newMetrics(r Registerer) *metrics {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"kind"})
	}
	m := &metrics{
		noted: counter("alds_trail_noted_total",
			"Sign-ins, refused sign-ins and denials noted for the audit trail, by kind."),
		dropped: counter("alds_trail_dropped_total",
			"Sign-ins, refused sign-ins and denials that were only counted, because too many "+
				"different ones came within a minute, by kind."),
	}
	// Counters begin at zero. A counter that begins with its first event would show no increase for
	// that event.
	for _, k := range []Kind{SignIn, SignInRefused, Denied} {
		m.noted.WithLabelValues(string(k))
		m.dropped.WithLabelValues(string(k))
	}
	if r != nil {
		r.MustRegister(m.noted, m.dropped)
	}
	return m
}
