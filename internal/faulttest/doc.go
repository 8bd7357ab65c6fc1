// Package faulttest kills what can be killed. It builds the real commands,
// runs them as processes on MySQL or MariaDB and Redis, and takes parts away
// while work is going on:
//
//   - the worker by SIGKILL and all of Redis's content, while events are on
//     their way: every event arrives all the same;
//   - the api by SIGKILL, while bulk requests are running: every request is
//     wholly there or wholly absent, and there when it was answered 200;
//   - anything at random instants, processes, Redis's content and the
//     connections to the database, under a stream of writes: every version
//     there is arrives, and nothing is left waiting (-faults 100 for long).
//
// Afterwards the database is read as a whole and must agree with itself.
//
// Each test has a database and a Redis database of its own. It empties that
// one (FLUSHDB) and not the server (FLUSHALL): to the service the loss is the
// same, and other tests on the server keep what they have.
package faulttest
