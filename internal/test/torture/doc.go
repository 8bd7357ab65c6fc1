// Package torture starts several api processes on the nodes of one database and lets
// them write at once. A lock of one node is unknown to the others, so whatever alds
// relies on must hold without:
//
//   - two migrations at once do the work once;
//   - of two moves that would put each of two projects under the other, one is refused;
//   - a task that is made while its story moves ends in the project of the story;
//   - a write finds what another node has just made;
//   - a change is in a listing that is read after a subscription was answered, or is
//     delivered to it;
//   - what is sent twice under one key, to two processes, is done once;
//   - a name that is unique is given once;
//   - every request is wholly done or not at all, as its answer says, while nodes are
//     killed and come back, too.
//
// Answers have a status that the interface names, never 500. Afterwards api check reads
// the whole database, which must agree with itself. Every case logs how many it tried and
// how many were wrong, and fails for each that was.
//
// TestReadsElsewhere has two apis query a replica that is one to two seconds behind: what a
// member writes through one of them it finds through the other, what is no query is the
// writer's, and a replica that is killed or stands still is missed by nobody.
//
//	go test ./internal/test/torture -v                           # a few seconds for each case; less with -short
//	go test ./internal/test/torture -v -torture.for 60s -timeout 1h
//	go test ./internal/test/torture -v -torture.on group-multi
//	go test ./internal/test/torture -v -run ReadsElsewhere -torture.pairs 10000
//	go test ./internal/test/torture -v -run Torture/newest -torture.pairs 10000
//
// The databases that -torture.on names are galera-multi, a Galera cluster whose nodes all
// take writes; galera-single, where all processes write to one node and go to the next
// when it is gone, by a proxy as operators have one; and group-multi and group-single,
// the same with the group replication of MySQL. mariadbd, mariadb-install-db, rsync and
// the library of Galera must be installed, and redis-server; group replication runs in
// the folder that .ci/mysql unpacks, and wants root.
package torture
