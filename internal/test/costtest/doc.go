// Package costtest searches for small requests that cost more than they should, because the work or the
// memory for a request grows with the product of the request's size and the amount of stored data.
//
// It generates random requests to every route from a grammar, each of at most 100 KB. It prefers constructs
// that multiply work: lists of thousands of values, repeated texts and tokens, YAML aliases, nested
// queries, chains of relations, and commands on all assets. Requests of the kind "products" combine two of
// these constructs on purpose.
//
// Members of every role send the requests, one at a time, to standalone on SQLite with about 1,500 assets.
// A second member reads and writes during each request. The service runs in this test binary, which
// measures the work of the service:
//
//   - bytes allocated and held, and processor time,
//   - statements, instructions of SQLite, and rows read and written,
//   - how long a write transaction was open,
//   - how much work was done while the second member waited.
//
// A finding is a request that exceeds one of the bounds (see bounds). A bound is a multiple of the size of
// the request plus a constant. A request that is answered 500 or ends the process is a finding, too. Each
// finding is reduced until nothing more can be left out, and is then printed. Memory, processor time and what
// another member waited for also grow when the machine does other work. A long run therefore sends all
// requests of the service again if a request exceeds only these bounds, and logs it. It is a finding if it
// exceeds them again.
//
//	go test ./internal/test/costtest -run Requests -v -timeout 5h -cost.requests 200000
//	go test ./internal/test/costtest -run Requests -v -seed 7 -cost.requests 2000
//	go test ./internal/test/costtest -run Requests -v -timeout 5h -cost.on own
//
// The last command starts a separate MariaDB and reads the counters of that server. COSTTEST_SQL=1 also
// prints the statements of the service. With -short the test sends the same requests each time; other seeds
// and longer runs find more. With -cost.first a run ends at its first finding. That shows how soon the test
// finds a fault that was added on purpose.
//
// The variable cases has the requests of earlier findings, in their reduced form.
package costtest
