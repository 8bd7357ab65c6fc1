// Command testall runs the tests of alds in three tiers:
//
//	go run ./internal/testall               quick: units and the specification, some minutes
//	go run ./internal/testall gate          what .ci/run adds: a short form of each system test
//	go run ./internal/testall long [AREA]   everything at full depth, or one area; no limit
//	go run ./internal/testall list          the areas and their packages
//
// Further arguments go to go test; those that begin with ./ are packages, which are then
// tested instead of those of the tier:
//
//	go run ./internal/testall -count=1
//	ALDS_TEST_MYSQL=mysql://root@127.0.0.1:3320 go run ./internal/testall ./internal/find
//
// Quick and gate pass -short to go test: tests that ask testing.Short then take a sample,
// or leave the work to the long tier. Every package belongs to one area of areas.go.
//
// While it runs, testall prints one line for each package that has ended and, at once, each
// failed test: its output and the command that runs it alone, with its seed. The summary is
// last and fits on a screen.
package main
