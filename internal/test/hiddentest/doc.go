// Package hiddentest checks that a member cannot notice assets that the member may not see. It runs two
// services that differ only in hidden assets. Both must give the same answers, byte for byte, to thousands
// of random requests.
//
// Both services have the same visible assets, with the same Oids, Numbers, moments and ranks. The hidden
// assets differ in number, names, values and tags, and in their links to and from visible assets. Also
// hidden are members who share no project with the callers, expressions, and notes of other members. While
// the requests run, an administrator changes hidden assets, differently in each service.
//
// The requests are of every kind: queries, reads by path, versions, activity streams, templates, writes of
// all forms, tags, roles, previews and asynchronous requests. They guess Oids and names of assets that are
// hidden in one of the services. The comparison leaves out only values that the service generates: UUIDs,
// and times within the run (see blank).
//
// TestBoundsHide sends the same requests for members who could read and write the hidden projects, with
// access tokens that are bound to the visible ones.
//
//	go test ./internal/test/hiddentest -hidden.requests 20000 -hidden.seed 7
package hiddentest
