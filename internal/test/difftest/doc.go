// Package difftest sends random queries about random data to the query engine, on two databases. It
// compares the answers with those of a simple second implementation, the evaluator.
//
// The evaluator was written from the specification, not from the engine. It loads the raw tables into
// memory and visits assets one by one, without a plan, a join or an index. It is simple and slow, so that a
// reader can see that it is correct. Evaluator and engine share the parser of tokens, the model, and the
// sort order of texts. All three have separate tests. The comparison of texts for equality is not shared:
// it is written twice.
//
//	world      the raw rows of a database, with all versions
//	view       the world at one moment
//	node       one version of an asset in a view
//	ask        one query, in the form in which a client writes it
//	evaluator  computes the answer to a query for one member
//
// TestDifference fills worlds with bulk requests and then queries them. Both databases get the same
// requests, so that ids and moments are equal. It also records some answers before later writes. The same
// queries with asof must later return the same answers. For a difference it prints the seed, the query and
// the three answers:
//
//	go test ./internal/test/difftest -seed 7 -difftest.queries 10000
//
// Spec: interface 2.3, 4.3.
package difftest
