// Package modeltest compares the bulk interface with a simple model of its rules. Random
// sequences of requests go to the engine and to the model; each request comes from a random
// member. After each request, the two responses must be equal, and so must the contents of the
// database and of the model. The model was written from the documents, not from the engine. It
// shares only the table of rights with the engine (meta.Rights).
//
//	go test ./internal/test/modeltest -modeltest.sequences 2000 -modeltest.seed 1
//	go test ./internal/test/modeltest -run Together -timeout 1h -modeltest.together 20m
//
// Words: a thing is an asset of the model, identified by its label. A world is the whole content
// of the model at one time. The files:
//
//	rules_test.go       the attributes and operations of the types in the test
//	world_test.go       things, and the rules for their values
//	relations_test.go   the rules for relations between things
//	rights_test.go      what a member may see and do
//	operations_test.go  operations; copies_test.go: operations that create assets
//	request_test.go     a request, and its first phase: projection
//	process_test.go     the second phase of a request
//	payload_test.go     requests as data, and their text
//	generate_test.go    random requests; values_test.go: the values in them
//	grown_test.go       custom attributes, which half of the sequences have
//	attempt_test.go     commands of members without all rights
//	dump_test.go        reads the database into a world
//	compare_test.go     compares the engine with the model
//	shrink_test.go      makes a failing sequence smaller
//	together_test.go    requests sent at once: the result must match some order of them
//	climb_test.go       requests of one member: nobody gets a role that the member may not give
//	replay_test.go      undoes activity streams item by item; history_test.go: the tables of versions
//	validators_test.go  the validators of operations, against the operations themselves
//
// Spec: interface 2.1.4, 2.5, 3, 4.3, 5.5, 5.6, 5.8, 7.2.
package modeltest
