// Package testdb gives tests empty, migrated databases: a MariaDB or MySQL one,
// a SQLite file, and a Redis database of their own.
//
//	func TestMain(m *testing.M) { testdb.Main(m) } // drops what was made
//
//	func TestSomething(t *testing.T) {
//		testdb.Each(t, func(t *testing.T, d *db.DB) { ... })
//	}
//
// ALDS_TEST_MYSQL and ALDS_TEST_REDIS name the servers; without them the local
// ones are tried. The script .ci/mysql starts a MySQL, or a newer MariaDB, and
// prints the address to name. Where no server answers, the subtest is skipped with a line
// that says so, or fails when REQUIRE_SERVICES=1. A database is made once per
// test binary (one more for each test that runs in parallel), emptied before it
// is handed out again, and dropped by Main. What a killed run left behind on
// the local server, the next one drops.
//
// Between tests and the server stands a Recorder, which knows each statement that was
// sent, whoever sent it: -testdb.statements prints them, and Judged holds them against
// the rules of what every engine takes. AsTiDB is a server for which alds leaves out what
// a TiDB does not take.
//
// OwnMySQL and OwnRedis start servers that belong to one test, which may kill
// them and start them again. So do Galera and Group with databases of three nodes, and
// Replicated with one that has a replica.
package testdb
