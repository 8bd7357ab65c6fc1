package app

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/alds-dev/alds/internal/db"
)

// newRegistry returns the process's own registry, with what says how the
// process itself fares.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "alds_app_build_info",
		Help: "Always 1; the label tells what runs.",
	}, []string{"version"})
	build.WithLabelValues(version()).Set(1)
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
			Help: "Database connections there may be.",
		}, func() float64 { _, limit := d.InUse(); return float64(limit) }),
	)
}
