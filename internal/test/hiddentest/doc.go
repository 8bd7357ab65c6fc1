// Package hiddentest checks that assets which a member may not see make no difference to the
// member. Two services differ only in hidden assets. They must give the same answers, byte for
// byte, to thousands of random requests.
//
// Both services have the same visible assets, with the same Oids, Numbers, moments and ranks. The
// hidden assets differ in number, names, values, tags, and in links to and from visible assets.
// There are also members who share no project with the callers, expressions, and notes of others.
// While the requests run, an administrator changes hidden assets, differently in each service.
//
// The requests are of every kind: queries, reads by path, versions, activity streams, templates,
// writes of all forms, tags, roles, previews and asynchronous requests. They guess Oids and names
// of assets that are hidden in either service. The comparison leaves out only what the service
// makes up: UUIDs, and times within the run; see blank.
//
//	go test ./internal/test/hiddentest -hidden.requests 20000 -hidden.seed 7
package hiddentest
