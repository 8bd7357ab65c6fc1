// Package admin serves three pages for operators. Each process serves them on a listener of its
// own, separate from the interface:
//
//	/healthz  200 while the process runs
//	/readyz   200 while the process can work, else 503; the body lists the last results of the checks
//	/metrics  Prometheus text
//
// The listener has no authentication. It therefore listens on loopback by default, and its
// answers contain no data of the service.
package admin
