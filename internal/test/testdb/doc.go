// Package testdb provides empty, migrated databases for tests: a MariaDB or MySQL database, a SQLite file,
// and a Redis database. Each test has its own databases.
//
//	func TestMain(m *testing.M) { testdb.Main(m) } // drops the databases
//
//	func TestSomething(t *testing.T) {
//		testdb.Each(t, func(t *testing.T, d *db.DB) { ... })
//	}
//
// The environment variables ALDS_TEST_MYSQL and ALDS_TEST_REDIS name the servers. Without them, tests use
// local servers on the usual ports. The script .ci/mysql starts a MySQL, or a newer MariaDB, and prints its
// address. If a server does not answer, the test or subtest is skipped with a message, or fails with
// REQUIRE_SERVICES=1.
//
// A test binary creates one database on the server, and one more for each test that runs in parallel. A
// database is emptied before another test uses it. Main drops the databases at the end. If a test binary
// was killed, a later one drops its databases, but only on a local server.
//
// A Recorder is a proxy between tests and the server that records each statement. The flag
// -testdb.statements prints the statements. Judged checks them against the rules for all supported engines.
// AsTiDB starts a server that claims to be TiDB, so that alds leaves out what TiDB does not support.
//
// OwnMySQL and OwnRedis start servers for a single test, which may kill them and start them again. Galera
// and Group start clusters of three nodes. Replicated starts a server with a replica.
package testdb
