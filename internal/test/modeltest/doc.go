// Package modeltest compares the bulk interface with a plain model of its
// rules: random sequences of requests, each by a random member, go to the engine
// and to the model, and after each one the responses must be equal, and so must
// what the database holds. The model was written from the documents, not from the
// engine; of rights it shares their table (meta.Rights) alone.
//
//	go test ./internal/test/modeltest -modeltest.sequences 2000 -modeltest.seed 1
//	go test ./internal/test/modeltest -run Together -timeout 1h -modeltest.together 20m
//
// Words: a thing is an asset of the model, known by its label; a world is all
// there is at one time. The parts:
//
//	rules_test.go       the attributes and operations of the types that take part
//	world_test.go       things, and the rules for their values
//	relations_test.go   the rules for relations between them
//	rights_test.go      what a member sees and may do
//	operations_test.go  operations; copies_test.go: those that make things
//	request_test.go     a request, and its first phase: projection
//	process_test.go     its second phase
//	payload_test.go     requests as data, and their text
//	generate_test.go    random requests; values_test.go: what they say
//	grown_test.go       custom attributes, which half of the sequences have
//	attempt_test.go     what members without every right try
//	dump_test.go        the database in the model's words
//	compare_test.go     what must be equal
//	shrink_test.go      how a failing sequence is made small
//	together_test.go    requests at once: some order explains what came of them
//	climb_test.go       requests of one member: nobody gets a role that it may not give
//	replay_test.go      activity streams, undone item by item; history_test.go: the tables
//
// Spec: interface 2.1.4, 2.5, 3, 4.3, 5.5, 5.6, 5.8, 7.2.
package modeltest
