// Package rightstest holds the service against the table of rights, cell by cell:
// each role, held in each place, does everything to an asset of each type on each
// path that a write can take. What must happen is computed here from rights.yaml
// alone, by a second implementation of the rule; what happens is asked of the
// service over HTTP.
//
//	table_test.go    the second implementation: rights.yaml, and may
//	place_test.go    projects, members and what they see
//	matrix_test.go   the test: which combinations there are, and why others are not
//	sample_test.go   which of them the short form has
//	make_test.go     how assets of each type are made and changed
//	cell_test.go     a cell: its request, what it needs, what must come of it
//	path_*_test.go   the cells of each path
//	fixture_test.go  the assets that cells are about
//	world_test.go    how all of that is made in the service
//	run_test.go      the cells are carried out, and what came of them is compared
//	told_test.go     what attributes tell a member of its rights
//	service_test.go  the service and its clients
//
// With -short the cells are a sample. It covers every pair of role, place, type, verb and
// path, and more of what rights depend on: see sample_test.go. Without -short all cells
// are carried out.
//
// Spec: interface 5.5, 5.6, 5.8.
package rightstest
