// Package tracetest starts real processes with an endpoint of OpenTelemetry, and looks
// at the spans that it gets: how those of a request and of its deliveries belong
// together, and what is in them.
package tracetest
