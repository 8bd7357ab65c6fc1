// Package watchtest checks alerts, dashboards and traces. A real Prometheus scrapes real processes on
// MariaDB and Redis:
//
//   - Each alert of dashboards/alerts.yml must fire when its fault is caused, and no other
//     alert may fire. Each fault has a separate installation, which is a job of Prometheus.
//   - Each panel of dashboards/boards must show data of a healthy installation. A panel about
//     an alert must show its fault in red. The variable quiet names the panels that show
//     only 0 in a healthy installation.
//
// The test divides the durations in the rules by twenty. Where a row must be a minute old to count as old
// or gone, the test makes it a minute older. So the test takes a minute and a half. With -short it causes
// only a few of the faults, chosen by the seed. promtool tests the real durations, on series as they were
// seen here.
//
// trace_test.go and endpoint_test.go start processes that send spans to an OpenTelemetry endpoint of the
// test. They check how the spans of a request and of its deliveries belong together, and what the spans
// contain.
//
// The programs prometheus and promtool must be installed, and those of MariaDB and Redis, because the tests
// kill the servers.
package watchtest
