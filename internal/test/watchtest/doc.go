// Package watchtest shows that what operators watch is right, by a real Prometheus
// that scrapes real processes on MariaDB and Redis:
//
//   - each alert of dashboards/alerts.yml fires when what it is about is caused, and no
//     other one does; each has an installation of its own, which is a job of Prometheus;
//   - each panel of dashboards/boards shows an installation that works, and those that
//     are about an alert show its fault in red; panels with nothing to show in health are
//     named.
//
// The times of the rules are divided by twenty, and where a minute has to pass before
// something counts as gone or old, rows of the database are made a minute older, so that
// the test takes a minute and a half. With -short it causes a few of the alerts, which the
// seed chooses. The real times are tested by promtool, on series as they were seen here.
//
// trace_test.go and endpoint_test.go start processes with an endpoint of OpenTelemetry and
// look at the spans that it gets: how those of a request and of its deliveries belong
// together, and what is in them.
//
// The programs prometheus and promtool must be installed, and those of MariaDB and
// Redis: their servers are killed.
package watchtest
