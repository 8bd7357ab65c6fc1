package connection

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"sync/atomic"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// connector wraps a driver's connector: it runs the start statements on each new
// connection and adds a statement cache.
type connector struct {
	driver.Connector
	start  []string
	stmts  int          // maximum number of cached statements per connection
	writes bool         // the connections are for transactions that write
	killer *killer      // kills statements on a server; nil for SQLite, which runs in this process
	keeper *keeper      // keeps idle transactions open on a server; nil for SQLite and for a replica
	tidb   *atomic.Bool // whether the server is a TiDB; nil for SQLite
}

// Connect opens one connection and prepares it for use.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	cn := &conn{Conn: inner, max: c.stmts, cache: map[string]*list.Element{}, order: list.New()}
	for _, s := range c.start {
		if _, err := cn.ExecContext(ctx, s, nil); err != nil {
			_ = inner.Close()
			return nil, err
		}
	}
	if c.killer == nil {
		cn.interrupt, cn.active = sqliteInterrupt(inner), sqliteActive(inner)
		if err := sqlitePlansOnce(inner); err != nil {
			_ = inner.Close()
			return nil, err
		}
		return cn, nil
	}
	var version string
	if cn.id, version, err = identify(ctx, inner.(driver.QueryerContext)); err != nil {
		_ = inner.Close()
		return nil, err
	}
	cn.killer, cn.writes, cn.tidb = c.killer, c.writes, c.tidb
	if c.writes {
		cn.singly, err = isGalera(ctx, inner.(driver.QueryerContext))
		cn.keeper = c.keeper
	}
	if err == nil && c.writes {
		err = cn.boundIdle(ctx, version)
	}
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	return cn, nil
}

// conn is a driver connection with a cache of prepared statements. If the cache is full, the least
// recently used statement is closed. On a server, only statements that use one table are prepared.
// The type sql.Stmt is not used, because it would prepare a statement on a second connection while
// a transaction uses the first. In a pool of one connection, it would wait for the second
// connection forever.
type conn struct {
	driver.Conn
	max   int
	cache map[string]*list.Element // maps a query to the element of order with its *cached
	order *list.List               // statements, the most recently used first

	killer    *killer
	id        int64 // the server's number of the connection
	abandoned bool  // a context ended while a statement ran
	unfit     bool  // the connection must not be used again
	writes    bool  // the connection is for transactions that write
	singly    bool  // each statement is sent as text and by itself; see isGalera
	begins    bool  // a transaction begins with the next statement
	keeper    *keeper
	kept      kept
	tidb      *atomic.Bool
	interrupt func()      // stops the running statement of SQLite; nil on a server
	active    func() bool // reports whether a transaction is open; nil if not known
}

type cached struct {
	query string
	stmt  driver.Stmt
	busy  bool // the statement is running, or its rows are open
}

// ExecContext runs a statement. A statement without arguments is sent as text, unless it is in the
// map repeated.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.interrupt != nil {
		return c.execHere(watchedIn(ctx), query, args)
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.leave()
	r, err := c.exec(ctx, query, args)
	c.note(ctx, err)
	return r, err
}

// execHere is ExecContext for SQLite, which runs in this process. The driver gets the context only
// for the statement that begins a transaction, because this statement may wait for a lock. Any
// other statement is interrupted when the context ends.
func (c *conn) execHere(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if query == beginWrite {
		return c.exec(ctx, query, args)
	}
	w := c.watch(ctx)
	r, err := c.exec(context.Background(), query, args)
	w.end()
	return r, orEnded(ctx, err)
}

// orEnded returns the error of the context if err is from a statement that was interrupted because
// the context has ended. Otherwise it returns err.
func orEnded(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && sqlerror.ClassOf(err) == sqlerror.Ended {
		return ctx.Err()
	}
	return err
}

// note records, after the error err of a statement, that the context of the statement has ended, or
// that the connection must not be used again.
func (c *conn) note(ctx context.Context, err error) {
	if err == nil {
		return
	}
	if ctx.Err() != nil {
		c.abandoned = true
	}
	if sqlerror.IsUnfit(err) {
		c.unfit = true
	}
}

func (c *conn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if p := packetIn(args); p != nil {
		return c.execPacket(ctx, p, query)
	}
	asIs := len(args) == 0 && !repeated[query]
	if !asIs && isSelect(query) {
		return c.drain(ctx, query, args)
	}
	query, begins, err := c.begin(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if asIs || begins || c.goesAsText(query) {
		return c.execText(ctx, query, asText(args))
	}
	s, err := c.statement(ctx, query)
	if sqlerror.IsTooManyStatements(err) {
		return c.execText(ctx, query, asText(args))
	}
	if err != nil {
		return nil, err
	}
	defer c.release(s)
	s.busy = true
	return s.stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext is like ExecContext, for statements that return rows.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.interrupt != nil {
		return c.queryHere(watchedIn(ctx), query, args)
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	rows, s, err := c.query(ctx, query, args)
	if err != nil {
		c.note(ctx, err)
		c.leave()
		return nil, err
	}
	return &openRows{Rows: rows, ctx: ctx, c: c, s: s}, nil
}

// queryHere is QueryContext for SQLite, which runs in this process.
func (c *conn) queryHere(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w := c.watch(ctx)
	rows, s, err := c.query(context.Background(), query, args)
	if err != nil {
		w.end()
		return nil, orEnded(ctx, err)
	}
	return &openRows{Rows: rows, ctx: ctx, c: c, s: s, watch: w}, nil
}

// query runs a statement that returns rows. It returns the rows and the prepared statement, which
// is busy until the rows are closed. The prepared statement is nil if the query was sent as text.
func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, *cached, error) {
	if p := packetIn(args); p != nil {
		rows, err := c.queryPacket(ctx, p, query)
		return rows, nil, err
	}
	text := c.Conn.(driver.QueryerContext)
	query, begins, err := c.begin(ctx, query, args)
	if err != nil {
		return nil, nil, err
	}
	if len(args) == 0 || begins || c.goesAsText(query) {
		rows, err := text.QueryContext(ctx, query, asText(args))
		return rows, nil, err
	}
	s, err := c.statement(ctx, query)
	if sqlerror.IsTooManyStatements(err) {
		rows, err := text.QueryContext(ctx, query, asText(args))
		return rows, nil, err
	}
	if err != nil {
		return nil, nil, err
	}
	s.busy = true
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		c.release(s)
		return nil, nil, err
	}
	return rows, s, nil
}

// goesAsText reports whether a statement with arguments is sent to a server as text instead of
// being prepared. It returns true for statements that use several tables. MySQL 9.7.4 and MariaDB
// 10.11.19 return wrong rows for some prepared statements of this kind. For other statements of
// this kind, MariaDB later uses a slower plan. See TestConditionsInDerivedTables.
func (c *conn) goesAsText(query string) bool {
	return c.singly || c.killer != nil && ofSeveralTables(query)
}

// ofSeveralTables reports whether a statement joins tables or contains a SELECT.
func ofSeveralTables(query string) bool {
	return strings.Contains(query, " JOIN ") || strings.LastIndex(query, "SELECT ") > 0
}

func isSelect(query string) bool { return len(query) > 6 && strings.EqualFold(query[:6], "SELECT") }

// begin returns the text to be sent for a statement. The first statement of a transaction is sent
// as text, in one packet after the statement that begins the transaction. Then begins is true. If
// the first statement is large, begin sends only the statement that begins the transaction, and the
// large one is prepared and sent later.
func (c *conn) begin(ctx context.Context, query string, args []driver.NamedValue) (text string, begins bool, err error) {
	if !c.begins {
		return query, false, nil
	}
	c.begins = false
	if isLarge(args) {
		_, err = c.execText(ctx, c.beginServer(), nil)
		c.opened()
		return query, false, err
	}
	c.opened()
	return c.beginServer() + "; " + query, true, nil
}

// isLarge reports whether a statement is too large to be sent as text together with other
// statements.
func isLarge(args []driver.NamedValue) bool {
	n := 0
	for _, a := range args {
		switch v := a.Value.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		}
	}
	return len(args) > MaxJoinedArgs || n > MaxJoinedBytes
}

// drain runs a SELECT and discards its rows, for example a SELECT that only locks rows. The number
// of rows is the number of affected rows in the result. In ExecContext, the MySQL driver would wait
// forever for the rows of a prepared SELECT.
func (c *conn) drain(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	rows, err := c.QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	n := int64(0)
	row := make([]driver.Value, len(rows.Columns()))
	for err = rows.Next(row); err == nil; err = rows.Next(row) {
		n++
	}
	if !errors.Is(err, io.EOF) {
		_ = rows.Close()
		return nil, err
	}
	return driver.RowsAffected(n), rows.Close()
}

func (c *conn) execText(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// statement returns the prepared statement of a query, from the cache if possible. In SQLite, rows
// of the cached statement may still be open. Then the query is prepared a second time, and this
// second statement is closed after use.
func (c *conn) statement(ctx context.Context, query string) (*cached, error) {
	e, known := c.cache[query]
	if known && !e.Value.(*cached).busy {
		c.order.MoveToFront(e)
		return e.Value.(*cached), nil
	}
	stmt, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &cached{query: query, stmt: stmt}
	if !known {
		c.cache[query] = c.order.PushFront(s)
		c.evict()
	}
	return s, nil
}

func (c *conn) evict() {
	for c.order.Len() > c.max {
		e := c.order.Back()
		s := e.Value.(*cached)
		c.order.Remove(e)
		delete(c.cache, s.query)
		if !s.busy {
			_ = s.stmt.Close()
		}
	}
}

// release marks a statement free, and closes it if it is no longer in the cache.
func (c *conn) release(s *cached) {
	s.busy = false
	if e, ok := c.cache[s.query]; !ok || e.Value.(*cached) != s {
		_ = s.stmt.Close()
	}
}

// Close closes the connection, and before it the cached statements of SQLite. It kills a statement
// that may still run at the server. No other statement is killed, because nothing uses the
// connection afterwards.
func (c *conn) Close() error {
	if c.abandoned && c.killer != nil {
		defer c.killer.kill(c.id)
	}
	if c.keeper != nil {
		_ = c.closing(false)
	}
	if _, isMySQL := c.Conn.(driver.NamedValueChecker); !isMySQL {
		for e := c.order.Front(); e != nil; e = e.Next() {
			_ = e.Value.(*cached).stmt.Close()
		}
	}
	return c.Conn.Close()
}

// PrepareContext prepares a statement outside of the cache. gorm never calls it.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

// Ping pings the server.
func (c *conn) Ping(ctx context.Context) error { return c.Conn.(driver.Pinger).Ping(ctx) }

// ResetSession makes the driver detect a dead connection before the connection is used again.
func (c *conn) ResetSession(ctx context.Context) error {
	c.abandoned = false
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

// IsValid reports whether the connection may return to the pool.
func (c *conn) IsValid() bool { return !c.unfit && c.Conn.(driver.Validator).IsValid() }

// CheckNamedValue converts an argument as the driver does. It does not change a Packet.
func (c *conn) CheckNamedValue(nv *driver.NamedValue) error {
	if _, ok := nv.Value.(*Packet); ok {
		return nil
	}
	return c.checkValue(nv)
}

func (c *conn) checkValue(nv *driver.NamedValue) error {
	if checker, ok := c.Conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(nv)
	}
	v, err := driver.DefaultParameterConverter.ConvertValue(nv.Value)
	nv.Value = v
	return err
}
