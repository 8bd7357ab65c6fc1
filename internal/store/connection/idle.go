package connection

import (
	"context"
	"database/sql/driver"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// If a process is suspended or loses its network, its transactions stay open at the server, and
// other transactions wait for the rows that these transactions have locked. So the server ends a
// transaction that gets no statement for idleLimit. While a process only computes, its keeper sends
// a statement every keepEvery, so that its transactions stay open.
const (
	idleLimit = 3 * time.Second
	keepEvery = idleLimit / 3

	// keepAlive is the statement that the keeper sends, as text. If a Galera node has rolled the
	// transaction back, only a statement that is sent as text gets the error; see isGalera.
	keepAlive = "DO 0"
)

// keeper sends statements for idle transactions of this process, so that the server does not
// end them. It is safe for concurrent use.
type keeper struct {
	log    *slog.Logger
	mu     sync.Mutex
	open   map[*conn]bool // connections with a transaction that has begun at the server
	told   bool           // the method refused has logged its warning
	sent   atomic.Int64   // number of keepAlive statements
	lost   atomic.Int64   // number of transactions whose keepAlive failed
	cancel context.CancelFunc
	ended  chan struct{}
}

// newKeeper returns a running keeper; close ends it.
func newKeeper(log *slog.Logger) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{log: log, open: map[*conn]bool{}, cancel: cancel, ended: make(chan struct{})}
	go k.run(ctx)
	return k
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.ended)
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	var keeping sync.WaitGroup
	defer keeping.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		k.mu.Lock()
		for c := range k.open {
			keeping.Go(func() { c.keep(ctx) }) // in parallel: no connection waits for another
		}
		k.mu.Unlock()
	}
}

func (k *keeper) close() {
	if k != nil {
		k.cancel()
		<-k.ended
	}
}

// refused logs, once, that the server does not accept the variables that limit idle
// transactions.
func (k *keeper) refused(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.told {
		k.told = true
		k.log.Warn("the database cannot limit idle transactions: if a process stops, its open transactions block other writes", "err", err)
	}
}

// note records whether a connection has an open transaction.
func (k *keeper) note(c *conn, open bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if open {
		k.open[c] = true
	} else {
		delete(k.open, c)
	}
}

// kept is the data that the keeper needs about a connection for writes.
type kept struct {
	begin, over string // SQL before and after a transaction, if the server can limit only idle connections

	mu    sync.Mutex // held while the keeper uses the connection
	users int        // number of running statements and open rows
	begun bool       // a transaction is open at the server
	last  time.Time  // when the last statement ended
	lost  error      // error of a failed keepAlive, or nil; after the error the transaction cannot continue
}

// boundIdle makes the server end a transaction if no statement comes, or if a statement or answer
// is stuck in the network. MariaDB has a limit for idle transactions. Other servers only have
// wait_timeout, a limit for idle connections. On these servers wait_timeout is set while a
// transaction is open, or always if statements are sent one by one.
func (c *conn) boundIdle(ctx context.Context, version string) error {
	const seconds = int(idleLimit / time.Second)
	set := fmt.Sprintf("SET SESSION net_read_timeout = %d, net_write_timeout = %[1]d", seconds)
	begin, over := "", ""
	switch {
	case strings.Contains(version, "MariaDB"):
		set += fmt.Sprintf(" /*M!100301 , idle_transaction_timeout = %d */", seconds) // other servers read this part as a comment
	case c.singly:
		set += fmt.Sprintf(", wait_timeout = %d", seconds) // the pool replaces connections that the server ends
	default:
		set += ", wait_timeout = DEFAULT"
		begin, over = fmt.Sprintf("SET SESSION wait_timeout = %d; ", seconds), "; SET SESSION wait_timeout = DEFAULT"
	}
	_, err := c.execText(ctx, set, nil)
	if sqlerror.FromServer(err) && sqlerror.ClassOf(err) == sqlerror.Other {
		c.keeper.refused(err)
		return nil
	}
	c.kept.begin, c.kept.over = begin, over
	return err
}

// beginServer returns the SQL text that begins a write transaction on a server.
func (c *conn) beginServer() string { return c.kept.begin + startTransaction }

// enter records that a statement begins to use the connection. Errors: the error of an earlier
// keepAlive that failed.
func (c *conn) enter() error {
	if c.keeper == nil {
		return nil
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	if c.kept.lost != nil {
		return c.kept.lost
	}
	c.kept.users++
	return nil
}

// leave records that a statement no longer uses the connection.
func (c *conn) leave() {
	if c.keeper == nil {
		return
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.users--
	c.kept.last = time.Now()
}

// opened records that a transaction is open at the server.
func (c *conn) opened() {
	c.kept.mu.Lock()
	c.kept.begun, c.kept.last = true, time.Now()
	c.kept.mu.Unlock()
	c.keeper.note(c, true)
}

// closing ends the work of the keeper for a transaction that is about to be committed or rolled
// back. Before a commit, if the last statement ended long ago, closing checks that the server still
// has the transaction.
// Errors: driver.ErrBadConn if keepAlive has failed. Then the server has rolled the whole
// transaction back.
func (c *conn) closing(commit bool) error {
	c.keeper.note(c, false)
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	begun := c.kept.begun
	c.kept.begun = false
	if c.kept.lost == nil && begun && commit && time.Since(c.kept.last) > idleLimit/2 {
		c.kept.ask(c)
	}
	if c.kept.lost != nil {
		return driver.ErrBadConn
	}
	return nil
}

// keep sends keepAlive if the open transaction has had no statement for a while.
func (c *conn) keep(ctx context.Context) {
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	k := &c.kept
	if ctx.Err() == nil && k.begun && k.users == 0 && k.lost == nil && time.Since(k.last) >= keepEvery/2 {
		k.ask(c)
	}
}

// ask sends keepAlive, and records its error in k.lost. The caller holds k.mu.
func (k *kept) ask(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), idleLimit)
	defer cancel()
	c.keeper.sent.Add(1)
	if _, err := c.execText(ctx, keepAlive, nil); err != nil {
		k.lost = fmt.Errorf("%w: %s", driver.ErrBadConn, err.Error()) // ErrBadConn makes the transaction run again
		c.keeper.lost.Add(1)
		return
	}
	k.last = time.Now()
}
