// Package admin serves the operators' listener of every process, separate from the interface:
//
//	/healthz  200 while the process runs
//	/readyz   200 while it can work, else 503; the body lists the last results of the checks
//	/metrics  Prometheus text
//
// It has no authentication, so it listens on loopback by default and shows no data.
package admin
