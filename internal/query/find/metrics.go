package find

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Registerer registers the metrics of this package.
type Registerer = prometheus.Registerer

type metrics struct {
	duration      *prometheus.HistogramVec
	compile, read prometheus.Observer
	rows          prometheus.Counter
	planned       *prometheus.CounterVec
	plans         struct{ cached, made, single prometheus.Counter }
}

func newMetrics() *metrics {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "alds_find_duration_seconds",
			Help: "Time of queries, by stage: to plan one, and to read and send its rows. A slow client " +
				"of a large answer prolongs the second stage.",
			Buckets: []float64{.00001, .00005, .0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"stage"}),
		rows: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_find_rows_total",
			Help: "Rows that queries returned, without rows of nested selects.",
		}),
		planned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_find_plans_total",
			Help: "Queries by the origin of their plan: from the cache (kept), new in the cache (made), " +
				"or new and not cached (single).",
		}, []string{"from"}),
	}
	m.compile, m.read = m.duration.WithLabelValues("plan"), m.duration.WithLabelValues("read")
	m.plans.cached, m.plans.made, m.plans.single = m.planned.WithLabelValues("kept"), m.planned.WithLabelValues("made"), m.planned.WithLabelValues("single")
	return m
}

// Register registers the metrics of f.
func (f *Finder) Register(r Registerer) {
	r.MustRegister(f.metrics.duration, f.metrics.rows, f.metrics.planned)
}

// since observes the time of a stage.
func since(o prometheus.Observer, began time.Time) { o.Observe(time.Since(began).Seconds()) }
