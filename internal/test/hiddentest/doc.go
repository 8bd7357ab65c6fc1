// Package hiddentest shows that what a member may not see makes no difference to
// it: two services that differ only in hidden assets answer thousands of random
// requests byte for byte the same.
//
// Both services hold the same visible assets, with the same Oids, Numbers, moments
// and ranks. What is hidden differs: how much there is, names, values, tags, links
// to and from visible assets, members who share no project, expressions, notes of
// others. While the requests run, an administrator changes hidden assets, in each
// service others.
//
// The requests are of every kind: queries, reads by path, versions, activity
// streams, templates, writes of all forms, tags, roles, previews, asynchronous
// requests. They guess Oids and names of what is hidden in either service. Only
// what the service makes up is left out of the comparison: UUIDs, and times within
// the run; see blank.
//
//	go test ./internal/test/hiddentest -hidden.requests 20000 -hidden.seed 7
package hiddentest
