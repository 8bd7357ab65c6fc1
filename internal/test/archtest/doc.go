// Package archtest checks rules that the compiler does not check:
//
//   - which folders import which, and which packages may import a library;
//   - a package comment in every package;
//   - dashboards that show all metrics and no unknown metric;
//   - deployment files that name only existing commands and settings;
//   - links and references in documents.
//
// The tests read the source files themselves and start no other program. So the test cache of the go
// command sees all files that a result depends on, and does not reuse a result after one of them has
// changed.
package archtest
