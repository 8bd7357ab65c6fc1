// Package admin is the listener every process has for those who run it, apart
// from the interface and outside the instance path:
//
//	/healthz  200 while the process answers at all
//	/readyz   200 while it can do its work, else 503; the body says what is amiss
//	/metrics  Prometheus text
//
// It proves nobody, so it listens on loopback unless told otherwise, and it
// shows no data.
package admin
