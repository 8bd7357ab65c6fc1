// Package archtest checks rules that the compiler does not check: which folders import which, which
// packages may import a library, a doc.go in every package, dashboards that show all metrics and no unknown
// metric, deployment files that name only existing commands and settings, and links in documents.
//
// The tests read the sources themselves and start no other program. So the test cache of the go command
// knows all files that a result depends on, and never serves a stale pass.
package archtest
