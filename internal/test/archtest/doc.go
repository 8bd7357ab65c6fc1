// Package archtest holds what no compiler checks: which folders
// import which, the keepers of libraries, a doc.go in every package, dashboards that name all metrics
// and only those, deployment files that name only commands and settings that
// exist, and documents whose links resolve.
//
// It reads sources itself and starts no other program: the go command then
// knows which files a result depends on and never serves a stale pass.
package archtest
