// Package clienttest runs clients that know of the service what it tells them.
//
// One knows nothing of the model but what meta.v1 tells: it makes assets of every
// type that can be made, writes every attribute that can be written, runs every
// operation, and reads back what it wrote. What metadata says and what the service
// does must agree both ways: what it calls writable is taken, what it calls
// read-only refused.
//
//	metadata_test.go  what meta.v1 says
//	value_test.go     values of each kind, and how they are read
//	asset_test.go     assets to be written, and others that relations lead to
//	write_test.go     attributes
//	operate_test.go   operations
//	known_test.go     what metadata does not say, with the reason for each
//	client_test.go    requests
//	model_test.go     the test
//	pages_test.go     pages of assets of every type, and their forms
//
// The others are small programs in the languages of existing clients, under testdata.
// They speak XML, each with the parser, the headers and the paths that are usual there,
// and end at the first answer that is not as existing clients read it.
//
//	languages_test.go compiles and runs them
//
// The programs of examples/ run as processes, each copied out of the repository: what they
// print, what is in the service afterwards, and how they end when something is refused.
//
//	program_test.go     the programs, and what each needs of the machine
//	gate_test.go        who stands between a program and the service, and forges deliveries
//	example_test.go     the tests
//	powershell_test.go  the syntax of a program that Debian has no interpreter for
//
// Two more: existing_test.go makes the calls of an existing client's library, which
// docs/compatibility.md names, and roundtrip_test.go writes random assets in one format
// and reads them in both.
//
// Spec: interface 2.4, 4.1, 4.2, 4.13, 10.
package clienttest
