// Package difftest asks the engine random questions about random data and
// holds its answers, on both databases, against those of a plain evaluator.
//
// The evaluator is written from the specification, not from the engine: it
// loads the raw tables into memory and walks assets one by one, with no plan,
// no join and no index. Where it looks clumsy it does so in order to be
// obviously right. It shares with the engine the parser of tokens, the model,
// and the order of texts; all three are tested apart. Which texts are equal it
// says by itself.
//
//	world      the raw rows of a database, every version of them
//	view       the world as it was at one moment
//	node       one version of an asset in a view
//	ask        one question, as a client writes it
//	evaluator  answers an ask as one member sees the world
//
// TestDifference grows worlds by bulk requests (the same on both databases, so
// that ids and moments agree), and asks. Now and then it keeps answers while
// nothing is being written; asked again later with asof, they must not have
// changed. A difference prints the seed, the question and the three answers:
//
//	go test ./internal/test/difftest -seed 7 -difftest.queries 10000
//
// Spec: interface 2.3, 4.3.
package difftest
