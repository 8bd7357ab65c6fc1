// Package costtest finds requests that cost more than they should: small ones whose work, or
// memory, multiplies what they hold with what is stored.
//
// Random requests of every route, of at most 100 KB, are made from a grammar that is biased to
// what multiplies: lists of thousands, texts and tokens again and again, YAML aliases, queries
// inside queries, relations of relations, commands on all assets; products combine two of these
// on purpose. Members of every role send them, one at a time, to standalone on SQLite with a
// world of some 1,500 assets, while a second member reads and writes. The process is this test
// binary, which counts what it does: bytes allocated and held, processor time, statements,
// instructions of SQLite, rows read and written, how long the writer was held, and what was done
// while the second member waited. A finding is a request of which any of these is above a
// multiple of its size and a constant, see bounds, or one that is answered 500 or ends the
// process. It is made smaller until nothing can be left out, and printed.
//
//	go test ./internal/test/costtest -run Requests -v -timeout 5h -cost.requests 200000
//	go test ./internal/test/costtest -run Requests -v -seed 7 -cost.requests 2000
//	go test ./internal/test/costtest -run Requests -v -timeout 5h -cost.on own
//
// The last uses a MariaDB of its own and its counters. COSTTEST_SQL=1 prints the statements of
// the service, too. The short form sends the same requests each time; others, and longer runs,
// find more. With -cost.first a run ends with its first finding: how soon a fault is found that
// was put in by hand.
//
// What was found stays in cases, each as small as it became.
package costtest
