// Package testproc lets tests start the commands of this repository as
// processes, wait until they answer, and end them.
//
//	func TestMain(m *testing.M) { testproc.Main(m) } // removes what was built
//
//	p := testproc.Start(t, testproc.Options{Env: env}, "api")
//	if !testproc.Becomes(t.Context(), url, 0) { ... }
//	p.Kill()
//
// Serve runs the service in the test's own process.
package testproc
