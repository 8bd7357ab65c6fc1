package config

import (
	"cmp"
	"slices"
	"strings"
)

// readTraces reads whether traces are sent. The library in package tracing reads the endpoints
// again, and all other options, but does not check an endpoint. If an endpoint has no scheme, or
// has a query or a user, the library would silently send to another address. So the endpoints are
// checked here.
func (c *Config) readTraces(r *reader) {
	all, traces := r.publicURL("OTEL_EXPORTER_OTLP_ENDPOINT"), r.publicURL("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	isOff := r.flag("OTEL_SDK_DISABLED", false)
	exporters := strings.Split(strings.ReplaceAll(r.text("OTEL_TRACES_EXPORTER"), " ", ""), ",")
	c.Traces = all+traces != "" && !isOff && slices.Contains(exporters, "otlp")
	const protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	if c.Traces && cmp.Or(r.getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), r.getenv(protocol)) == "grpc" {
		r.warnings = append(r.warnings, Warning{Text: warnNoGRPC, Setting: protocol})
	}
}
