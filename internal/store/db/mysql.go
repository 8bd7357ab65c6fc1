package db

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/base/tlsmode"
)

// Isolation levels of read and of write transactions.
const (
	repeatableRead = "REPEATABLE READ"
	readCommitted  = "READ COMMITTED"
)

const (
	mysqlStmts   = 100 // per connection; the server's limit for all connections is 16,382 by default
	lockWait     = 10  // seconds that a statement waits for a row lock
	mysqlConnect = 5 * time.Second
)

// mysqlConfig reads mysql://user:pass@host:port/name[?tls=…&tls-ca=…]. The parameters are
// those of tlsmode.
func mysqlConfig(u *url.URL) (*mysql.Config, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	if u.Port() == "" {
		c.Addr = u.Hostname() + ":3306"
	}
	if u.Hostname() == "" || c.DBName == "" {
		return nil, errors.New("want mysql://user:pass@host:3306/name")
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	asked := u.Query()
	for key := range asked {
		if key != "tls" && key != "tls-ca" {
			return nil, fmt.Errorf("unknown parameter %q", key) // the value may be a secret
		}
	}
	var err error
	if c.TLS, err = tlsmode.New(asked.Get("tls"), asked.Get("tls-ca")); err != nil {
		return nil, err
	}
	c.AllowFallbackToPlaintext = asked.Get("tls") == tlsmode.Preferred
	c.Collation = "utf8mb4_unicode_ci"
	c.Loc = time.UTC
	c.ClientFoundRows = true
	c.InterpolateParams = true // for packets and statements of several tables; see conn
	c.MultiStatements = true   // for statements that are sent together; see packet
	c.Timeout = mysqlConnect
	c.Logger = &mysql.NopLogger{}
	return c, nil
}

// killConfig returns c with short timeouts, for connections that only kill statements.
func killConfig(c *mysql.Config) *mysql.Config {
	c = c.Clone()
	c.ReadTimeout, c.WriteTimeout = killTimeout, killTimeout
	return c
}

// statementLimit makes the server end a statement after d, also when its client is gone.
// MariaDB and MySQL each read their own part; the other part is a comment.
func statementLimit(d time.Duration) string {
	return fmt.Sprintf("SET SESSION sql_select_limit = DEFAULT /*M!100101 , max_statement_time = %.3f */ /*!50708 , max_execution_time = %d */",
		d.Seconds(), d.Milliseconds())
}

// withoutRowidFilter is a part of a SET. When many sessions read at once, the row id filters
// of MariaDB 10.11 sometimes drop rows that match. For MySQL it is a comment.
const withoutRowidFilter = " /*M!100401 , optimizer_switch = 'rowid_filter=off' */"

// mysqlPool opens a pool whose sessions are strict, in UTC, and have this isolation level.
func (d *DB) mysqlPool(base *mysql.Config, isolation string, conns int, answer time.Duration, start ...string) (*sql.DB, error) {
	c := base.Clone()
	c.ReadTimeout, c.WriteTimeout = answer, answer
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{
		Connector: inner,
		stmts:     mysqlStmts,
		killer:    d.killer,
		keeper:    d.keeper,
		tidb:      d.tidb,
		writes:    isolation == readCommitted,
		start: append([]string{
			"SET SESSION TRANSACTION ISOLATION LEVEL " + isolation,
			fmt.Sprintf("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"+
				" time_zone = '+00:00', innodb_lock_wait_timeout = %d"+withoutRowidFilter, lockWait),
		}, start...),
	})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}
