// Package testdb provides empty, migrated databases for tests: a MariaDB or MySQL database, a SQLite file,
// and a Redis database. Each test has a separate one.
//
//	func TestMain(m *testing.M) { testdb.Main(m) } // drops the databases
//
//	func TestSomething(t *testing.T) {
//		testdb.Each(t, func(t *testing.T, d *db.DB) { ... })
//	}
//
// The environment variables ALDS_TEST_MYSQL and ALDS_TEST_REDIS name the servers. Without them the tests
// try the local servers. The script .ci/mysql starts a MySQL, or a newer MariaDB, and prints its address.
// If no server answers, the subtest is skipped with a message, or fails with REQUIRE_SERVICES=1.
//
// A test binary creates one database, and one more for each test that runs in parallel. A database is
// emptied before it is used again, and Main drops it. If a run was killed, the next run drops its databases
// on the local server.
//
// A Recorder between tests and the server records each statement. The flag -testdb.statements prints them,
// and Judged checks them against the rules for all engines. AsTiDB starts a server that claims to be TiDB,
// so that alds leaves out what TiDB does not support.
//
// OwnMySQL and OwnRedis start servers for a single test, which may kill and restart them. Galera and Group
// start clusters of three nodes, and Replicated starts a server with a replica.
package testdb
