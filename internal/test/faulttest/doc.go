// Package faulttest kills what can be killed. It builds the real commands,
// runs them as processes on a MariaDB and a Redis that belong to the test, and
// takes parts away while work is going on:
//
//   - bulk requests are whole or absent, and there when they were answered
//     200, while the api is killed, transactions meet deadlocks, connections
//     are cut and MariaDB is killed and restarted;
//   - every change arrives that a subscription wants, while processes are
//     killed, Redis is emptied (FLUSHALL) and goes away, and MariaDB restarts;
//   - what a full disk or tablespace refuses is 503 and not there, and is carried
//     out once there is room;
//   - attributes that are added while two apis and a worker are at work are known to
//     all within two seconds, nothing that names them is ignored, and an api that is
//     killed while it adds some leaves all or none;
//   - the next release comes and goes again behind a balancer, process by process,
//     while clients work: no request fails and every change is delivered;
//   - a process that is stopped (SIGSTOP), or cut off with its connections open, keeps
//     nobody else's events back, and does no harm when it wakes up; nor do a database
//     that works for a tenth of the time and one whose clock is set;
//   - a killed worker's deliveries are taken over, and a Redis that comes back
//     is used again; how long that takes is logged.
//
// Afterwards api check reads the whole database, which must agree with itself.
//
// Faults come at random instants, by a seed that is printed:
//
//	go test ./internal/test/faulttest -v -faults 100 -faultseed 7
//	go test ./internal/test/faulttest -v -run Grey -faults 100 -grey 60s
//
// With -short there are fewer of them, tests run beside each other, and none fails by the
// time that something takes.
//
// The programs mariadbd, mariadb-install-db and redis-server must be
// installed: a server that runs elsewhere cannot be killed.
package faulttest
