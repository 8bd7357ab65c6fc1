// Package test is the folder of all tests of the whole service. It also has the programs that run the tests,
// and the packages that help them.
//
// Packages outside this folder import packages of this folder only in their tests. Start with testall,
// which runs the tests, and with spectest, which has the specification as text cases.
package test
