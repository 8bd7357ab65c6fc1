// Package modeltest compares the bulk interface with a simple model of its rules. It sends random sequences
// of requests to the engine and to the model, each request as a random member. After each request, both
// responses must be equal, and the database must have the same content as the model. The model was written
// from the documents, not from the engine. Both share only the table of rights (meta.Rights).
//
//	go test ./internal/test/modeltest -modeltest.sequences 2000 -modeltest.seed 1
//	go test ./internal/test/modeltest -run Together -timeout 1h -modeltest.together 20m
//
// Words: a thing is an asset in the model. Its label identifies it. A world is the whole content of the
// model at one time. The files:
//
//	rules_test.go       the attributes and operations of the types in the test
//	world_test.go       things, and the rules for their values
//	relations_test.go   the rules for relations between things
//	rights_test.go      what a member may see and do
//	operations_test.go  operations; copies_test.go: operations that create assets
//	request_test.go     a request, and the first phase of its execution: the commands become steps
//	process_test.go     the second phase: the steps are executed
//	payload_test.go     requests as data, and their text
//	generate_test.go    random requests; values_test.go: the values in them
//	grown_test.go       custom attributes, which half of the sequences have
//	attempt_test.go     commands of members who lack some rights
//	dump_test.go        reads the database into a world
//	compare_test.go     compares the engine with the model
//	shrink_test.go      makes a failing sequence smaller
//	together_test.go    several requests at a time: the result must match one of their orders
//	climb_test.go       requests of one member: nobody gets a role that the member may not give
//	replay_test.go      undoes activity streams item by item; history_test.go: the tables of versions
//	validators_test.go  compares the validators of operations with the results of the operations
//
// Spec: interface 2.1.4, 2.5, 3, 4.3, 5.5, 5.6, 5.8, 7.2.
package modeltest
