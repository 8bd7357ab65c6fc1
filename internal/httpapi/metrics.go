package httpapi

import "github.com/prometheus/client_golang/prometheus"

// Registerer is where the metrics of this package are registered.
type Registerer = prometheus.Registerer

type metrics struct {
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	received prometheus.Counter
	sent     prometheus.Counter
	broken   *prometheus.CounterVec
	events   prometheus.Counter
}

// unrouted is the route label of a request whose path has no route.
const unrouted = "none"

// newMetrics returns metrics. It registers them with r unless r is nil.
func newMetrics(r Registerer) *metrics {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "alds_httpapi_request_duration_seconds",
			Help:    "Time from the received headers of a request to its answer, by method, route and status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"method", "route", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "alds_httpapi_requests_in_flight",
			Help: "Requests that have not been answered yet.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_httpapi_panics_total",
			Help: "Panics while requests were handled. A request gets 500 if its answer has not begun.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_httpapi_received_bytes_total",
			Help: "Received bytes of request bodies.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_httpapi_sent_bytes_total",
			Help: "Sent bytes of answer bodies.",
		}),
		broken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "alds_httpapi_broken_answers_total",
			Help: "Answers that ended before their last byte, by cause: the client disconnected or was " +
				"too slow (client), the request took too long (time), the answer was too large (limit), " +
				"the member lost rights (rights) or the server failed (server).",
		}, []string{"by"}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "alds_httpapi_feed_events_total",
			Help: "Events of the change feed sent to readers, in pages and live streams.",
		}),
	}
	for _, by := range []string{"client", "time", "limit", "rights", "server"} {
		m.broken.WithLabelValues(by)
	}
	if r != nil {
		r.MustRegister(m.duration, m.inFlight, m.panics, m.received, m.sent, m.broken, m.events)
	}
	return m
}

// registerGauges registers the gauges, whose values are read when metrics are collected.
func (*metrics) registerGauges(r Registerer, a *API) {
	if r == nil {
		return
	}
	gauge := func(name, help string, value func() int64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) }))
	}
	gauge("alds_httpapi_requests_running", "Running requests, each in a slot of its member.", func() int64 {
		n, _ := a.members.Load()
		return int64(n)
	})
	gauge("alds_httpapi_requests_waiting",
		"Requests that wait for a slot of their member or for a slot of large bodies.", func() int64 {
			_, n := a.members.Load()
			_, large := a.large.Load()
			return int64(n + large)
		})
	gauge("alds_httpapi_feed_readers_waiting",
		"Readers of the change feed that wait for changes, live streams included.", func() int64 {
			n, _ := a.followers.Load()
			return int64(n)
		})
	gauge("alds_httpapi_memory_bytes", "Bytes that requests have reserved for bodies and answers.", func() int64 {
		n, _ := a.memory.Used()
		return n
	})
	gauge("alds_httpapi_memory_limit_bytes",
		"Maximum number of bytes that requests may reserve (ALDS_BODY_MEMORY).", func() int64 {
			_, n := a.memory.Used()
			return n
		})
}
