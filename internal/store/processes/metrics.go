package processes

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Registerer registers the package's metrics.
type Registerer = prometheus.Registerer

// counts has the number of processes for each role. A process with several roles counts for
// each of them.
type counts struct{ apis, workers, schedulers int }

// add adds n processes with this role. A role may be combined, such as api+worker; standalone means
// all roles.
func (c *counts) add(role string, n int) {
	parts := strings.Split(role, "+")
	for part, count := range map[string]*int{"api": &c.apis, "worker": &c.workers, "scheduler": &c.schedulers} {
		if role == "standalone" || slices.Contains(parts, part) {
			*count += n
		}
	}
}

// metrics has the numbers of processes in the whole installation. They come from the database, so
// each process also reports roles that have no process. While the database does not answer, the
// numbers are unknown and no metric is reported.
type metrics struct{ last atomic.Pointer[counts] }

func newMetrics(r Registerer) *metrics {
	m := &metrics{}
	if r != nil {
		r.MustRegister(m)
	}
	return m
}

func (m *metrics) known(c counts) { m.last.Store(&c) }

func (m *metrics) unknown() { m.last.Store(nil) }

// The metrics have no label for the role, since operators use a label of that name for their
// targets.
var (
	apis = prometheus.NewDesc("alds_processes_apis",
		"Processes of the installation with the role api that were alive in the last minute.", nil, nil)
	workers = prometheus.NewDesc("alds_processes_workers",
		"Processes of the installation with the role worker that were alive in the last minute.", nil, nil)
	schedulers = prometheus.NewDesc("alds_processes_schedulers",
		"Processes of the installation with the role scheduler that were alive in the last minute.", nil, nil)
)

// Describe implements prometheus.Collector.
func (*metrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{apis, workers, schedulers} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	c := m.last.Load()
	if c == nil {
		return
	}
	for d, n := range map[*prometheus.Desc]int{apis: c.apis, workers: c.workers, schedulers: c.schedulers} {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n))
	}
}
