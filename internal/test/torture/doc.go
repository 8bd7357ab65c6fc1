// Package torture starts several api processes on the nodes of one database, which write at the
// same time. A lock on one node does not exist on the others, so alds must work without it:
//
//   - two migrations at the same time do the work once;
//   - of two moves that would put each of two projects below the other, one is refused;
//   - a task that is created while its story moves ends in the project of the story;
//   - a write finds what another node has just created;
//   - a change is in a listing that is read after a subscription was created, or is
//     delivered to the subscription;
//   - a request that is sent twice with one key, to two processes, is done once;
//   - a unique name is given once;
//   - every request is done completely or not at all, as its response states, also while
//     nodes are killed and come back.
//
// Responses have a status that the interface allows, never 500. After each case, api check reads
// the whole database and must find no contradiction. Every case logs how many requests it tried
// and how many were wrong, and fails if any was wrong.
//
// In TestReadsElsewhere, two apis query a replica that is one to two seconds behind. What a
// member writes through one api, it must find through the other. Everything except queries must
// use the writer. If the replica is killed or stands still, no request may fail.
//
//	go test ./internal/test/torture -v                           # a few seconds for each case; less with -short
//	go test ./internal/test/torture -v -torture.for 60s -timeout 1h
//	go test ./internal/test/torture -v -torture.on group-multi
//	go test ./internal/test/torture -v -run ReadsElsewhere -torture.pairs 10000
//	go test ./internal/test/torture -v -run Torture/newest -torture.pairs 10000
//
// -torture.on selects one of four databases:
//
//   - galera-multi: a Galera cluster in which all nodes take writes;
//   - galera-single: all processes write to one node, and to the next one when it is gone,
//     through a proxy as operators use it;
//   - group-multi and group-single: the same with the group replication of MySQL.
//
// mariadbd, mariadb-install-db, rsync, the library of Galera and redis-server must be installed.
// Group replication runs in the folder that .ci/mysql unpacks, and needs root.
package torture
