package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var checkUp = prometheus.NewDesc("alds_admin_check_up",
	"1 where what the process depends on answers, 0 where it does not, by check: database, schema, redis, attachments.", []string{"check"}, nil)

// Describe implements prometheus.Collector.
func (r *readiness) Describe(all chan<- *prometheus.Desc) { all <- checkUp }

// Collect implements prometheus.Collector. It returns the last results of the checks, or
// before SetChecks what is missing.
func (r *readiness) Collect(all chan<- prometheus.Metric) {
	tell := func(check string, err error) {
		up := 0.0
		if err == nil {
			up = 1
		}
		if err != errNotChecked { //nolint:errorlint // the value itself: nothing has been found yet
			all <- prometheus.MustNewConstMetric(checkUp, prometheus.GaugeValue, up, check)
		}
	}
	s, now := r.now.Load(), time.Now()
	if s.reason != nil {
		tell(s.name, s.reason)
		return
	}
	for _, w := range s.checks {
		_, err := w.result(now)
		tell(w.Name, err)
	}
}
