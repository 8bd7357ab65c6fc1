package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/alds-dev/alds/internal/base/release"
	"github.com/alds-dev/alds/internal/store/db"
)

// newRegistry returns a registry with the metrics of the process itself.
func newRegistry(role string) *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "alds_app_build_info",
		Help: "Always 1. The labels describe the running build.",
	}, []string{"version", "role", "commit", "date"})
	build.WithLabelValues(release.Version(), role, release.Built().Commit, release.Built().Date).Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

func registerDB(r *prometheus.Registry, d *db.DB) {
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "alds_app_db_connections_in_use",
			Help: "Database connections that run a statement or a transaction.",
		}, func() float64 { used, _ := d.InUse(); return float64(used) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "alds_app_db_connections_limit",
			Help: "Maximum number of database connections.",
		}, func() float64 { _, limit := d.InUse(); return float64(limit) }),
		pools{d},
	)
}

// pools collects the metrics of a database handle.
type pools struct{ d *db.DB }

var (
	poolUsed = prometheus.NewDesc("alds_app_db_pool_in_use",
		"Database connections in use, by purpose: quick and long reads, other statements, lookups, "+
			"writes, short writes and replicas.", []string{"pool"}, nil)
	poolLimit = prometheus.NewDesc("alds_app_db_pool_limit",
		"Maximum number of database connections, by purpose.", []string{"pool"}, nil)
	longWaiting = prometheus.NewDesc("alds_app_db_long_reads_waiting",
		"Long reads that wait for other long reads to end.", nil, nil)
	restarted = prometheus.NewDesc("alds_app_db_reads_restarted_total",
		"Quick reads that took too long, or returned too much, and were restarted as long reads.", nil, nil)
	killed = prometheus.NewDesc("alds_app_db_statements_killed_total",
		"Statements that were killed on the database server, because the client disconnected or "+
			"the time limit was exceeded.", nil, nil)
	routedReads = prometheus.NewDesc("alds_app_db_routed_reads_total",
		"Queries while DATABASE_READ_URL is set: on a replica (replica), or on the primary because "+
			"the member is unknown (member), the client requested it (strong), no replica is in use (none), "+
			"the replica lacked writes of the member (behind) or failed (refused).", []string{"by"}, nil)
	replicaUsed = prometheus.NewDesc("alds_app_db_replica_up",
		"1 if a replica is in use. 0 if it does not answer, lags by more than 10 seconds, or has "+
			"other migrations.", []string{"replica"}, nil)
	replicaLag = prometheus.NewDesc("alds_app_db_replica_lag_seconds",
		"Upper bound of the lag of a replica behind the primary. No value if the lag is unknown.",
		[]string{"replica"}, nil)
	noRoom = prometheus.NewDesc("alds_app_db_no_room_total",
		"Writes that the database refused because its disk or tablespace was full.", nil, nil)
)

// Describe sends the descriptions of all metrics.
func (pools) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{poolUsed, poolLimit, longWaiting, restarted, killed, noRoom, routedReads, replicaUsed, replicaLag} {
		to <- d
	}
}

// Collect sends the current values of all metrics.
func (p pools) Collect(to chan<- prometheus.Metric) {
	for _, pool := range p.d.Pools() {
		to <- prometheus.MustNewConstMetric(poolUsed, prometheus.GaugeValue, float64(pool.Used), pool.Name)
		to <- prometheus.MustNewConstMetric(poolLimit, prometheus.GaugeValue, float64(pool.Limit), pool.Name)
	}
	c := p.d.Counts()
	to <- prometheus.MustNewConstMetric(longWaiting, prometheus.GaugeValue, float64(c.Waiting))
	to <- prometheus.MustNewConstMetric(restarted, prometheus.CounterValue, float64(c.Restarts))
	to <- prometheus.MustNewConstMetric(killed, prometheus.CounterValue, float64(c.Kills))
	to <- prometheus.MustNewConstMetric(noRoom, prometheus.CounterValue, float64(c.NoRoom))
	p.collectReplicas(to)
}

// collectReplicas sends the current values of the metrics of replicas. Without replicas it sends
// nothing.
func (p pools) collectReplicas(to chan<- prometheus.Metric) {
	replicas, reads := p.d.ReplicaStates()
	if len(replicas) == 0 {
		return
	}
	to <- prometheus.MustNewConstMetric(routedReads, prometheus.CounterValue, float64(reads.Replica), "replica")
	for why, n := range reads.Writer {
		to <- prometheus.MustNewConstMetric(routedReads, prometheus.CounterValue, float64(n), why)
	}
	for _, r := range replicas {
		up := 0.0
		if r.Used {
			up = 1
		}
		to <- prometheus.MustNewConstMetric(replicaUsed, prometheus.GaugeValue, up, r.Name)
		if r.Lag >= 0 {
			to <- prometheus.MustNewConstMetric(replicaLag, prometheus.GaugeValue, r.Lag.Seconds(), r.Name)
		}
	}
}
