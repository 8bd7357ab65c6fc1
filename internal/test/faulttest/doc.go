// Package faulttest kills processes and servers during work, and checks that nothing is lost. It builds the
// real commands and runs them as processes on a MariaDB and a Redis of the test. The tests check:
//
//   - A bulk request is executed completely or not at all, and completely if it was answered
//     200. Meanwhile the api is killed, transactions run into deadlocks, connections are cut,
//     and MariaDB is killed and restarted.
//   - Every change that matches a subscription is delivered. Meanwhile processes are killed,
//     Redis is emptied (FLUSHALL) or stopped, and MariaDB restarts.
//   - A write that a full disk or tablespace prevents is answered 503 and not stored. It
//     succeeds when there is room again.
//   - While two apis and a worker run, new attributes are known to all of them within two
//     seconds, and no value of them is ignored. If an api is killed while it adds several
//     attributes, all of them exist afterwards or none.
//   - An upgrade to the next release and a rollback, process by process behind a load
//     balancer, fail no request and lose no delivery.
//   - A process that is stopped (SIGSTOP), or cut off while its connections stay open, does
//     not delay the events of other processes, and does no harm when it continues. The same
//     holds for a database that runs only a tenth of the time or has its clock changed.
//   - Other workers take over the deliveries of a killed worker, and a Redis that was
//     restarted is used again. The tests log how long that takes.
//
// Afterwards api check reads the whole database and must find no fault.
//
// Faults happen at random times. The seed is logged:
//
//	go test ./internal/test/faulttest -v -faults 100 -faultseed 7
//	go test ./internal/test/faulttest -v -run Grey -faults 100 -grey 60s
//
// With -short there are fewer faults, tests run in parallel, and no test fails because something was slow.
//
// The programs mariadbd, mariadb-install-db and redis-server must be installed, because a test cannot kill
// a server that runs elsewhere.
package faulttest
