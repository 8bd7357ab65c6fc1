// Package test is the folder of all tests of the whole service. It also has the programs that run the tests,
// and the packages that help them.
//
// No package outside this folder imports packages below it, except in tests. Start with testall, which runs
// the tests, and with spectest, which has the specification as text cases.
package test
