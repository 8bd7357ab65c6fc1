package testdb

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"strings"
)

// Server is a database that tests use.
type Server struct {
	Name    string // with version and address, if the server answers
	IsMySQL bool   // true: MySQL or MariaDB
	Err     error  // why tests do not use it; nil: they use it
}

// Servers returns the databases that tests on this machine use: SQLite, MySQL or MariaDB, and Redis.
// address is the address of the MySQL or MariaDB. If it is empty, that is the usual address.
func Servers(address string) []Server {
	mysql := Server{Name: "MySQL or MariaDB", IsMySQL: true}
	if s, err := findServer(cmp.Or(address, usualServer())); err != nil {
		mysql.Err = err
	} else {
		var version string
		mysql.Err = s.admin.QueryRow(context.Background(), "SELECT VERSION()").Scan(&version)
		mysql.Name = product(version) + " at " + s.base.Host
		_ = s.admin.Close()
	}
	redis := Server{Name: "Redis"}
	u, err := url.Parse(redisAddress())
	if err == nil {
		redis.Name = "Redis at " + u.Host
		password, _ := u.User.Password()
		var c *redisConn
		if c, err = dialRedis(u.Host, password); err == nil {
			_ = c.conn.Close()
		}
	}
	redis.Err = err
	return []Server{{Name: "SQLite, built in"}, mysql, redis}
}

// product returns the name of a server, which it takes from its version. Versions of MySQL look like
// 9.7.4-2, versions of MariaDB like 10.11.19-MariaDB-0+deb12u1.
func product(version string) string {
	number, more, _ := strings.Cut(version, "-")
	if strings.HasPrefix(more, "MariaDB") {
		return "MariaDB " + number
	}
	return "MySQL " + number
}

// redisAddress returns the address of the Redis that tests use.
func redisAddress() string {
	if address := os.Getenv("ALDS_TEST_REDIS"); address != "" {
		return address
	}
	return "redis://127.0.0.1:6379"
}
