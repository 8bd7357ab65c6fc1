// Package rightstest compares the service with the table of rights, cell by cell. In a cell, a member with
// one role in one place does one thing to an asset of one type, by one path: one of the ways to send a
// write. The test computes the expected results from rights.yaml alone, with its own implementation of the
// rules. The actual results come from the service over HTTP.
//
//	table_test.go    rights.yaml, and who has which right by its rules
//	place_test.go    projects, members and what they see
//	matrix_test.go   the test: which combinations have cells, and why others have none
//	sample_test.go   which of the cells run with -short
//	make_test.go     how assets of each type are created and changed
//	cell_test.go     a cell: its request, the rights that it needs, and how it ends
//	path_*_test.go   the cells of each path
//	fixture_test.go  the assets that cells use
//	world_test.go    creates everything in the service
//	run_test.go      runs the cells and compares how they end
//	told_test.go     attributes that show members their rights
//	bounds_test.go   what access tokens with bounds may do, by each route
//	definition_test.go  who may define custom attributes and lists
//	service_test.go  the service and its clients
//
// With -short, only a sample of the cells runs. It has every pair of role, place, type, verb and path, and
// more combinations on which rights depend (see sample_test.go). Without -short, all cells run.
//
// Spec: interface 5.5, 5.6, 5.8.
package rightstest
