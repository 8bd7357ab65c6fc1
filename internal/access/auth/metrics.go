package auth

import "github.com/prometheus/client_golang/prometheus"

// Registerer is the type of a registry for metrics.
type Registerer = prometheus.Registerer

type metrics struct {
	logins *prometheus.CounterVec
	hashes prometheus.Histogram
	waits  prometheus.Histogram
}

// Schemes of logins.
const (
	basic  = "basic"
	bearer = "bearer"
)

// Outcomes of a login, the values of the label outcome.
const (
	remembered = "remembered"
	verified   = "verified"
	refused    = "refused"
	unknown    = "unknown" // refused, because no member has the username
	slowed     = "slowed"  // refused with a *SlowDownError
	failed     = "failed"
)

// newMetrics registers the metrics with r, which may be nil.
func newMetrics(r Registerer) *metrics {
	m := &metrics{
		logins: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_auth_logins_total",
			Help: "Checks of credentials, by scheme and outcome.",
		}, []string{"scheme", "outcome"}),
		hashes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "alds_auth_password_check_seconds",
			Help:    "Time to compute the hash of one password. Passwords in the cache are not counted.",
			Buckets: []float64{.01, .02, .05, .1, .2, .5, 1, 2, 5},
		}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "alds_auth_login_wait_seconds",
			Help: "Time that one login waited before its password was verified: for a hash slot, and " +
				"for the delay after wrong passwords.",
			Buckets: []float64{.01, .05, .1, .2, .5, 1, 2, 5, 10},
		}),
	}
	// All counters begin at zero. A counter that begins with its first event would show no
	// increase for that event.
	for _, scheme := range []string{basic, bearer} {
		for _, outcome := range []string{remembered, verified, refused, unknown, slowed, failed} {
			m.logins.WithLabelValues(scheme, outcome)
		}
	}
	if r != nil {
		r.MustRegister(m.logins, m.hashes, m.waits)
	}
	return m
}
