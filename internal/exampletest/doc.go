// Package exampletest runs the programs of examples/ as processes, each copied out
// of the repository, against a service: what they print, what is in the service
// afterwards, and how they end when something is refused.
//
//	program_test.go     the programs, and what each needs of the machine
//	gate_test.go        who stands between a program and the service, and forges deliveries
//	example_test.go     the tests
//	powershell_test.go  the syntax of a program that Debian has no interpreter for
package exampletest
