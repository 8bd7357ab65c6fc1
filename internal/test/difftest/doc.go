// Package difftest sends random queries about random data to the engine, on two databases. It
// compares the answers with those of a simple evaluator.
//
// The evaluator was written from the specification, not from the engine. It loads the raw tables
// into memory and visits assets one by one, without a plan, join or index. It is simple rather
// than fast, so that a reader can see that it is correct. It shares with the engine the parser of
// tokens, the model, and the order of texts; all three have separate tests. It has separate code
// for the equality of texts.
//
//	world      the raw rows of a database, with all versions
//	view       the world at one moment
//	node       one version of an asset in a view
//	ask        one query, as a client writes it
//	evaluator  answers an ask for one member
//
// TestDifference fills worlds by bulk requests and then queries them. Both databases get the same
// requests, so that ids and moments agree. Sometimes it records answers while nothing is written.
// The same queries with asof must later return the same answers. A difference prints the seed,
// the query and the three answers:
//
//	go test ./internal/test/difftest -seed 7 -difftest.queries 10000
//
// Spec: interface 2.3, 4.3.
package difftest
