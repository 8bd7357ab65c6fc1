// Package rightstest compares the service with the table of rights, cell by cell. Each role, held
// in each place, does everything to an asset of each type, on each path of a write. The expected
// results are computed from rights.yaml alone, by a second implementation of the rules. The
// actual results come from the service over HTTP.
//
//	table_test.go    the second implementation: rights.yaml, and may
//	place_test.go    projects, members and what they see
//	matrix_test.go   the test: which combinations exist, and why others do not
//	sample_test.go   which of them run with -short
//	make_test.go     how assets of each type are created and changed
//	cell_test.go     a cell: its request, the rights it needs, and its outcome
//	path_*_test.go   the cells of each path
//	fixture_test.go  the assets of cells
//	world_test.go    how all of this is created in the service
//	run_test.go      carries out the cells and compares the outcomes
//	told_test.go     what attributes show to members about their rights
//	definition_test.go  who may define custom attributes and lists
//	service_test.go  the service and its clients
//
// With -short, only a sample of the cells runs. It covers every pair of role, place, type, verb
// and path, and more combinations on which rights depend: see sample_test.go. Without -short, all
// cells run.
//
// Spec: interface 5.5, 5.6, 5.8.
package rightstest
