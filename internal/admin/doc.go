// Package admin serves the operators' listener of every process, apart from the
// interface:
//
//	/healthz  200 while the process runs
//	/readyz   200 while it can work, else 503; the body lists what the checks found last
//	/metrics  Prometheus text
//
// It does not authenticate, so it listens on loopback by default and shows no
// data.
package admin
