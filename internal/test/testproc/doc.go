// Package testproc starts the commands of this repository as processes for tests, waits until they answer,
// and stops them.
//
//	func TestMain(m *testing.M) { testproc.Main(m) } // removes the built commands
//
//	p := testproc.Start(t, testproc.Options{Env: env}, "api")
//	if !testproc.Becomes(t.Context(), url, 0) { ... }
//	p.Kill()
//
// Serve instead runs the service inside the process of the test.
package testproc
