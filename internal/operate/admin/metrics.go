package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var checkUp = prometheus.NewDesc("alds_admin_check_up",
	"1 if the check passes, else 0, by check: database, schema, redis, attachments.",
	[]string{"check"}, nil)

// Describe implements prometheus.Collector.
func (r *readiness) Describe(all chan<- *prometheus.Desc) { all <- checkUp }

// Collect implements prometheus.Collector. It sends the last results of the checks. While NotReady
// applies, it sends 0 for the dependency that NotReady named, and no results of checks.
func (r *readiness) Collect(all chan<- prometheus.Metric) {
	send := func(check string, err error) {
		up := 0.0
		if err == nil {
			up = 1
		}
		if err != errNotChecked { //nolint:errorlint // it is never wrapped; such a check has no result yet
			all <- prometheus.MustNewConstMetric(checkUp, prometheus.GaugeValue, up, check)
		}
	}
	s, now := r.now.Load(), time.Now()
	if s.reason != nil {
		send(s.name, s.reason)
		return
	}
	for _, w := range s.checks {
		_, err := w.result(now)
		send(w.Name, err)
	}
}
