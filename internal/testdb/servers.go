package testdb

import (
	"context"
	"fmt"
	"net/url"
	"os"
)

// Server is one of the databases that tests want.
type Server struct {
	Name string // with version and address where it answers
	Err  error  // why it is not used, nil when it is
}

// Servers tells which databases tests of this machine use: MySQL or MariaDB,
// Redis, and the built-in SQLite.
func Servers() []Server {
	mysql := Server{Name: "MySQL or MariaDB"}
	if s, err := findServer(); err != nil {
		mysql.Err = err
	} else {
		var version string
		mysql.Err = s.admin.QueryRow(context.Background(), "SELECT VERSION()").Scan(&version)
		mysql.Name = fmt.Sprintf("MySQL or MariaDB %s at %s", version, s.base.Host)
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

// redisAddress is the server that tests use.
func redisAddress() string {
	if address := os.Getenv("ALDS_TEST_REDIS"); address != "" {
		return address
	}
	return "redis://127.0.0.1:6379"
}
