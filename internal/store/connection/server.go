package connection

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
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
	mysqlStmts   = 100 // cached statements per connection; the server's limit for all connections is 16,382 by default
	lockWait     = 10  // seconds that a statement waits for a row lock
	mysqlConnect = 5 * time.Second
)

// mysqlConfig converts the address mysql://user:pass@host:port/name[?tls=…&tls-ca=…] to a
// configuration of the driver. Package tlsmode describes the parameters.
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
			return nil, fmt.Errorf("unknown parameter %q", key) // without the value, which may be a secret
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
	c.InterpolateParams = true // for packets and statements of several tables; see goesAsText
	c.MultiStatements = true   // for statements that are sent together; see Packet
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

// statementLimit returns SQL that makes the server end a statement after d, even if the client is
// gone. It has a part for MariaDB and a part for MySQL. Each server reads the other part as a
// comment.
func statementLimit(d time.Duration) string {
	return fmt.Sprintf("SET SESSION sql_select_limit = DEFAULT /*M!100101 , max_statement_time = %.3f */ /*!50708 , max_execution_time = %d */",
		d.Seconds(), d.Milliseconds())
}

// forMariaDB is the end of a SET statement, with settings for MariaDB. MySQL reads it as a comment.
//
// When many sessions read at once, the row id filters of MariaDB 10.11 sometimes drop rows that
// match. The search depth is how many tables ahead MariaDB looks when it orders a join. With the
// default of 62, MariaDB needed a minute for a join of a dozen empty tables.
const forMariaDB = " /*M!100401 , optimizer_switch = 'rowid_filter=off', optimizer_search_depth = 4 */"

// Server opens pools of connections to a server. Its pools share the killer, which kills abandoned
// statements, and the keeper, which keeps idle transactions open.
type Server struct {
	config *mysql.Config
	answer time.Duration // how long a connection waits for an answer
	killer *killer
	keeper *keeper      // nil for a replica, which has no write transactions
	tidb   *atomic.Bool // whether the server is a TiDB
	pools  []*sql.DB    // all pools except those of Admin

	sockets *sockets // open connections to a replica; nil if the server is not a replica
}

// NewServer returns the server at an address, mysql://user:pass@host:port/name. It opens no
// connection. The parameter answer is the longest time that a connection waits for an answer; then
// the connection ends.
// Errors: an invalid address. The error does not show the password in the address.
func NewServer(address string, answer time.Duration, log *slog.Logger) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL") // the cause would show the password
	}
	c, err := mysqlConfig(u)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(killConfig(c))
	if err != nil {
		return nil, err
	}
	return &Server{config: c, answer: answer, killer: newKiller(inner), keeper: newKeeper(log), tidb: new(atomic.Bool)}, nil
}

// NewReplica returns a server for reads, which is a replica of s. The parameter connect is the time
// limit for opening a connection to the replica.
// Errors: as for NewServer.
func (s *Server) NewReplica(address string, connect time.Duration) (*Server, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the address of a replica is not a URL") // the cause would show the password
	}
	c, err := mysqlConfig(u)
	if err != nil {
		return nil, err
	}
	r := &Server{config: c, answer: s.answer, tidb: s.tidb, sockets: newSockets()}
	c.DialFunc, c.Timeout = r.sockets.dial, connect
	inner, err := mysql.NewConnector(killConfig(c))
	if err != nil {
		return nil, err
	}
	r.killer = newKiller(inner)
	return r, nil
}

// Address returns host:port of the server.
func (s *Server) Address() string { return s.config.Addr }

// IsTiDB reports whether the server is a TiDB. It is false before SetTiDB.
func (s *Server) IsTiDB() bool { return s.tidb.Load() }

// SetTiDB records whether the server is a TiDB. This also applies to its open connections and its
// replicas.
func (s *Server) SetTiDB(is bool) { s.tidb.Store(is) }

// Reads opens a pool for reads. The server ends a statement after limit.
func (s *Server) Reads(conns int, limit time.Duration) (*sql.DB, error) {
	isolation := repeatableRead
	if s.sockets != nil {
		isolation += ", READ ONLY"
	}
	return s.keep(s.open(isolation, conns, s.answer, statementLimit(limit)))
}

// Writes opens a pool for transactions that write.
func (s *Server) Writes(conns int) (*sql.DB, error) {
	return s.keep(s.open(readCommitted, conns, s.answer))
}

// Admin opens a pool of one connection without a time limit, for changes of the schema. The
// caller closes it.
func (s *Server) Admin() (*sql.DB, error) { return s.open(readCommitted, 1, 0) }

func (s *Server) keep(pool *sql.DB, err error) (*sql.DB, error) {
	if err == nil {
		s.pools = append(s.pools, pool)
	}
	return pool, err
}

// open opens a pool of conns connections. Their sessions have strict SQL mode, the time zone UTC,
// and the given isolation level. Each session first runs the start statements. The parameter answer
// is as for NewServer.
func (s *Server) open(isolation string, conns int, answer time.Duration, start ...string) (*sql.DB, error) {
	c := s.config.Clone()
	c.ReadTimeout, c.WriteTimeout = answer, answer
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{
		Connector: inner,
		stmts:     mysqlStmts,
		killer:    s.killer,
		keeper:    s.keeper,
		tidb:      s.tidb,
		writes:    isolation == readCommitted,
		start: append([]string{
			"SET SESSION TRANSACTION ISOLATION LEVEL " + isolation,
			fmt.Sprintf("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',"+
				" time_zone = '+00:00', innodb_lock_wait_timeout = %d"+forMariaDB, lockWait),
		}, start...),
	})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool, nil
}

// Pools returns the pools of Reads and Writes, and the pool of connections that kill statements.
func (s *Server) Pools() []*sql.DB { return append(slices.Clone(s.pools), s.killer.pool) }

// Cut closes the connections to a replica at once, so that nothing waits for the replica any more.
func (s *Server) Cut() { s.sockets.cut() }

// Counts counts events of a server since NewServer.
type Counts struct {
	Kills int64 // canceled statements that were killed
	Kept  int64 // statements that kept a transaction open
	Lost  int64 // transactions for which such a statement failed
}

// Counts returns the current counts.
func (s *Server) Counts() Counts {
	c := Counts{Kills: s.killer.kills.Load()}
	if s.keeper != nil {
		c.Kept, c.Lost = s.keeper.sent.Load(), s.keeper.lost.Load()
	}
	return c
}

// Close closes all connections without waiting for statements.
func (s *Server) Close() error {
	var errs []error
	for _, pool := range s.pools {
		errs = append(errs, pool.Close())
	}
	s.keeper.close()
	return errors.Join(append(errs, s.killer.close())...)
}
