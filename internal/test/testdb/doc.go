// Package testdb gives tests empty, migrated databases: a MariaDB or MySQL database, a SQLite
// file, and a Redis database. Each test has its own.
//
//	func TestMain(m *testing.M) { testdb.Main(m) } // drops what was made
//
//	func TestSomething(t *testing.T) {
//		testdb.Each(t, func(t *testing.T, d *db.DB) { ... })
//	}
//
// ALDS_TEST_MYSQL and ALDS_TEST_REDIS name the servers. Without them the local servers are
// tried. The script .ci/mysql starts a MySQL, or a newer MariaDB, and prints its address. If
// no server answers, the subtest is skipped with a line that says so, or fails with
// REQUIRE_SERVICES=1.
//
// A database is made once per test binary, plus one for each test that runs in parallel. It is
// emptied before it is used again, and Main drops it. If a run was killed, the next one drops
// its databases on the local server.
//
// A Recorder between tests and the server records each statement. The flag -testdb.statements
// prints them, and Judged checks them against the rules for all engines. AsTiDB is a server
// for which alds leaves out what TiDB does not support.
//
// OwnMySQL and OwnRedis start servers for one test, which may kill and restart them. Galera
// and Group do so for databases of three nodes, and Replicated for one with a replica.
package testdb
