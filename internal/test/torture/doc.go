// Package torture starts several api processes on different nodes of one database cluster. All of them
// write at the same time. A lock on one node does not exist on the other nodes, so alds must not depend on
// locks. The test has these cases:
//
//   - Two migrations run at the same time. The work is done once.
//   - Two moves would put each of two projects below the other. One of them is refused.
//   - A task is created while its story moves. The task ends in the project of the story.
//   - A write finds an asset that another node has just created.
//   - A subscription is created, and then a listing is read. Each change is in the listing or
//     is delivered.
//   - A request is sent twice with one key, to two processes. It is executed once.
//   - Two assets get the same unique name. One of them is refused.
//   - Nodes are killed and started again. Every request is executed completely or not at all,
//     as its answer says.
//
// Every answer must have a status that the interface allows, never 500. After each case, the command check
// reads the whole database and must find no fault. Every case logs how many requests it sent and how many
// went wrong. It fails if any went wrong.
//
// In TestReadsElsewhere, two apis query a replica that is one to two seconds behind. A member who writes
// through one api must find the write through the other. Everything except queries must use the writer, the
// server that accepts writes. If the replica is killed or its replication stops, no request may fail.
//
//	go test ./internal/test/torture -v                           # a few seconds for each case; less with -short
//	go test ./internal/test/torture -v -torture.for 60s -timeout 1h
//	go test ./internal/test/torture -v -torture.on group-multi
//	go test ./internal/test/torture -v -run ReadsElsewhere -torture.pairs 10000
//	go test ./internal/test/torture -v -run Torture/newest -torture.pairs 10000
//
// -torture.on selects the kind of database:
//
//   - galera-multi: a Galera cluster in which all nodes accept writes;
//   - galera-single: all processes write to one node of the cluster, and to the next node when
//     the first is gone, through a proxy as operators use it;
//   - group-multi and group-single: the same with the group replication of MySQL.
//
// mariadbd, mariadb-install-db, rsync, the library of Galera and redis-server must be installed.
// Group replication runs in the folder that .ci/mysql unpacks, and needs root.
package torture
