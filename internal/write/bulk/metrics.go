package bulk

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Registerer is the type of a registry for metrics.
type Registerer = prometheus.Registerer

type metrics struct {
	commands *prometheus.CounterVec
	requests prometheus.Histogram
	async    *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		commands: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_bulk_commands_total",
			Help: "Executed commands of bulk requests, by verb and result. A command for several assets " +
				"counts once for each of them.",
		}, []string{"verb", "result"}),
		requests: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "alds_bulk_request_seconds",
			Help:    "Time from a parsed bulk request to its response.",
			Buckets: []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60},
		}),
		async: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_bulk_async_total",
			Help: "Executions of asynchronous requests, by outcome: done, refused, again (executed again later), " +
				"handed_back (the worker stopped) or lost (another worker has the request).",
		}, []string{"outcome"}),
	}
	// All counters begin at zero. A counter that begins with its first event would show no
	// increase for that event.
	for k := kindCreate; k <= kindQuery; k++ {
		m.commands.WithLabelValues(k.verb(), "done")
		m.commands.WithLabelValues(k.verb(), "failed")
	}
	for _, outcome := range []string{"done", "refused", "again", "handed_back", "lost"} {
		m.async.WithLabelValues(outcome)
	}
	return m
}

// Register registers the metrics of the engine.
func (e *Engine) Register(r Registerer) {
	r.MustRegister(e.metrics.commands, e.metrics.requests, e.metrics.async)
}

// count counts the commands and the duration of one finished request.
func (m *metrics) count(r *result, took time.Duration) {
	for verb, n := range map[string]int{
		"create": r.created.count, "update": r.modified.count, "execute": r.operated.count, "query": r.queries,
	} {
		m.commands.WithLabelValues(verb, "done").Add(float64(n))
	}
	for verb, n := range r.failedBy {
		m.commands.WithLabelValues(verb, "failed").Add(float64(n))
	}
	m.requests.Observe(took.Seconds())
}
