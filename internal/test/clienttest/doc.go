// Package clienttest runs clients of various kinds against the service.
//
// One client reads meta.v1 and uses no other description of the model. It creates assets of every type that
// can be created, writes every attribute that can be written, runs every operation, and reads back what it
// wrote. The service must accept writes of attributes that metadata calls writable, and refuse writes of
// read-only attributes.
//
//	metadata_test.go  the answer of meta.v1
//	value_test.go     values of each kind, and how they are read
//	asset_test.go     the assets that the client writes, and the assets that they refer to
//	write_test.go     attributes
//	operate_test.go   operations
//	known_test.go     facts that metadata does not contain, with the reason for each
//	client_test.go    requests
//	model_test.go     the test
//	pages_test.go     pages of assets of every type, and their forms
//
// Other clients are small programs under testdata, in the languages of existing clients. They use XML, with
// the parser, headers and paths that are usual in their language. A program stops at the first answer that
// differs from what existing clients expect.
//
//	languages_test.go compiles and runs them
//
// The tests run the programs of examples/ as processes, from copies outside the repository. They check what
// the programs print and write to the service, and how the programs end when a request is refused.
//
//	program_test.go     the programs, and what they need to run
//	gate_test.go        a proxy between a program and the service, which also forges deliveries
//	example_test.go     the tests
//	powershell_test.go  the syntax of the PowerShell program, for which Debian has no interpreter
//
// existing_test.go calls the library of an existing client. docs/compatibility.md names this library.
// roundtrip_test.go writes random assets in one format and reads them in both formats.
//
// Spec: interface 2.4, 4.1, 4.2, 4.13, 10.
package clienttest
