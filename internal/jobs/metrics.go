package jobs

import (
	"context"
	"time"

	"github.com/hibiken/asynq"
	"github.com/prometheus/client_golang/prometheus"
)

// Registerer registers the package's metrics.
type Registerer = prometheus.Registerer

type metrics struct {
	sent       *prometheus.CounterVec
	unsent     *prometheus.CounterVec
	dropped    prometheus.Counter
	hints      prometheus.Counter
	hintErrors prometheus.Counter
	work       *prometheus.HistogramVec
	failures   *prometheus.CounterVec
	tasks      *prometheus.GaugeVec
}

func newMetrics(r Registerer) *metrics {
	m := &metrics{
		sent:       counters("sent_total", "Hints and tasks sent to Redis, by task."),
		unsent:     counters("unsent_total", "Hints and tasks that could not be sent to Redis, by task."),
		dropped:    counter("dropped_total", "Tasks that were not sent because too many tasks were waiting."),
		hints:      counter("hints_total", "Hints that started a fan-out in this process."),
		hintErrors: counter("hint_errors_total", "Failed reads of the list of hints in Redis."),
		work: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "work_duration_seconds",
			Help: "Duration of work started by a hint, a task or a sweep.", Buckets: buckets,
		}, []string{"task"}),
		failures: counters("work_failures_total", "Work that failed and is repeated, by task."),
		tasks: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "queue_tasks", Help: "Tasks in the queue, by state.",
		}, []string{"state"}),
	}
	m.begin()
	if r != nil {
		r.MustRegister(m.sent, m.unsent, m.dropped, m.hints, m.hintErrors, m.work, m.failures, m.tasks)
	}
	return m
}

// begin starts all counters with known labels at 0. Otherwise a counter would first appear with the
// value 1, and monitoring would not see this increase.
func (m *metrics) begin() {
	for _, task := range []string{workHint, taskFanOut, taskWake, taskExecute} {
		m.sent.WithLabelValues(task)
		m.unsent.WithLabelValues(task)
	}
	for _, work := range []string{workHint, workSweep, workSweepChanges, workCarryOut, taskFanOut, taskWake, taskExecute} {
		m.failures.WithLabelValues(work)
	}
}

func (m *metrics) ran(name string, err error, took time.Duration) {
	m.work.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.failures.WithLabelValues(name).Inc()
	}
}

// measureEvery is the interval at which a worker updates the gauges of the queues.
const measureEvery = 10 * time.Second

// measure updates the gauges of the queues' depth until ctx ends.
func (w *Worker) measure(ctx context.Context) {
	inspector := asynq.NewInspectorFromRedisClient(w.q.redis)
	for {
		if d, err := depth(inspector); err == nil {
			for state, n := range map[string]int{"pending": d.Pending, "active": d.Active, "scheduled": d.Scheduled, "retry": d.Retry, "archived": d.Archived} {
				w.q.metrics.tasks.WithLabelValues(state).Set(float64(n))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(measureEvery):
		}
	}
}

type periodicMetrics struct {
	period   *prometheus.GaugeVec
	last     *prometheus.GaugeVec
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
}

func newPeriodicMetrics(r Registerer) *periodicMetrics {
	m := &periodicMetrics{
		period: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "periodic_period_seconds",
			Help: "Period of periodic work, by task.",
		}, []string{"task"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "periodic_last_success_timestamp_seconds",
			Help: "Time of the last successful run of periodic work, by task. Before the first one: the " +
				"start of the scheduler.",
		}, []string{"task"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "periodic_duration_seconds",
			Help: "Duration of periodic work, by task.", Buckets: buckets,
		}, []string{"task"}),
		failures: counters("periodic_failures_total", "Failed runs of periodic work, by task."),
	}
	if r != nil {
		r.MustRegister(m.period, m.last, m.duration, m.failures)
	}
	return m
}

// starts sets the metrics of work before its first run, so that work that never succeeds also
// becomes overdue.
func (m *periodicMetrics) starts(p Periodic) {
	m.period.WithLabelValues(p.Name).Set(p.Every.Seconds())
	m.last.WithLabelValues(p.Name).SetToCurrentTime()
	m.failures.WithLabelValues(p.Name)
}

func (m *periodicMetrics) ran(name string, err error, took time.Duration) {
	m.duration.WithLabelValues(name).Observe(took.Seconds())
	if err != nil {
		m.failures.WithLabelValues(name).Inc()
		return
	}
	m.last.WithLabelValues(name).SetToCurrentTime()
}

const namespace, subsystem = "alds", "jobs"

var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help})
}

// counters returns a counter with the label task.
func counters(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, []string{"task"})
}
