// Package watchtest tests alerts, dashboards and traces. A real Prometheus scrapes real processes, which
// run on MariaDB and Redis:
//
//   - Each alert of dashboards/alerts.yml must fire when its fault is caused, and no other
//     alert may fire. Each fault has its own installation, which is a job of Prometheus.
//   - Each panel of dashboards/boards must show data of a healthy installation. A panel about
//     an alert must show the fault of the alert in red. The variable quiet names the panels
//     that show only 0 in a healthy installation.
//
// The test divides the durations in the rules by twenty. Rows in the database count as old or gone after a
// minute, so the test makes such rows a minute older. So the whole test takes a minute and a half. With
// -short it causes only some of the faults, and the seed decides which. promtool tests the real durations,
// with series like those that occur in this test.
//
// trace_test.go and endpoint_test.go start processes that send spans to an OpenTelemetry endpoint in the
// test. They check how the spans of a request and of its deliveries are connected, and what the spans
// contain.
//
// The programs prometheus and promtool, MariaDB and Redis must be installed, because the tests start these
// servers and kill some of them.
package watchtest
