// Package faulttest kills processes and servers while they work, and checks that nothing is lost. It builds
// the real commands and runs them as processes, with a MariaDB and a Redis that each test starts. The tests
// check:
//
//   - A bulk request is executed completely or not at all, and completely if it was answered
//     200. During the requests the api is killed, transactions run into deadlocks, connections
//     are cut, and MariaDB is killed and restarted.
//   - Every change that matches a subscription is delivered. During the changes processes are
//     killed, Redis is emptied (FLUSHALL) or stopped, and MariaDB restarts.
//   - A write that fails because a disk or tablespace is full is answered 503 and not stored.
//     The same write succeeds when there is room again.
//   - New attributes can be added while two apis and a worker run. All of them use a new
//     attribute within two seconds, and no value of it is ignored. If an api is killed while it
//     adds several attributes in one request, all of them exist afterwards or none.
//   - An installation behind a load balancer is upgraded to the next release and back, one
//     process after another. No request fails and no delivery is lost.
//   - A process is stopped (SIGSTOP), or cut off while its connections stay open. It does not
//     delay the events of other processes, and does no harm when it continues. The same is
//     tested with a database that runs only a tenth of the time or whose clock is changed.
//   - Other workers take over the deliveries of a killed worker. Processes use Redis again
//     after its restart. The tests log how long both take.
//
// At the end the command check reads the whole database and must find no fault.
//
// Faults happen at random times. The tests log the seed of the random numbers:
//
//	go test ./internal/test/faulttest -v -faults 100 -faultseed 7
//	go test ./internal/test/faulttest -v -run Grey -faults 100 -grey 60s
//
// With -short there are fewer faults and tests run in parallel. Then no test fails because something was
// slow.
//
// The programs mariadbd, mariadb-install-db and redis-server must be installed, because a test cannot kill
// a server that runs elsewhere.
package faulttest
