// Package test is the folder of the test programs, of their helpers, and of all packages
// that only hold tests of the whole service.
//
// No other folder imports it, except in tests. Start with testall, which runs the tests, and with
// spectest, the specification as text cases.
package test
