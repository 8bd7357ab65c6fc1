package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// A process that is stopped, or whose network is gone, leaves its transactions open at
// the server, and others wait for the rows that these have locked. So the server ends a
// transaction that gets no statement for idleLimit. A process that only computes sends a
// statement in time: the keeper does that.
const (
	idleLimit = 3 * time.Second
	keepEvery = idleLimit / 3

	// keepAlive is the statement of the keeper. It is text, since a node of Galera answers
	// to text that it has undone the transaction; see isGalera.
	keepAlive = "DO 0"
)

// keeper keeps the open transactions of the processes that run. It is safe for concurrent
// use.
type keeper struct {
	log    *slog.Logger
	mu     sync.Mutex
	open   map[*conn]bool // in a transaction that has begun at the server
	told   bool           // that a server has no bound
	sent   atomic.Int64   // statements
	lost   atomic.Int64   // transactions that were gone
	cancel context.CancelFunc
	ended  chan struct{}
}

// newKeeper returns a keeper that looks after transactions until close.
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
			keeping.Go(func() { c.keep(ctx) }) // each by itself: one that is not answered holds up no other
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

// refused logs once that a server does not know the variables of the bound.
func (k *keeper) refused(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.told {
		k.told = true
		k.log.Warn("the database does not end the transactions of a process that has stopped", "err", err)
	}
}

// note notes whether a connection is in a transaction.
func (k *keeper) note(c *conn, open bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if open {
		k.open[c] = true
	} else {
		delete(k.open, c)
	}
}

// kept is what the keeper has to know of a connection that writes.
type kept struct {
	begin, over string // around the transactions of a server whose bound is for all connections

	mu    sync.Mutex // held while the keeper uses the connection
	users int        // statements that run, and rows that are open
	begun bool       // a transaction is open at the server
	last  time.Time  // when the last statement ended
	lost  error      // of the keeper's statement: the transaction is gone
}

// boundIdle makes the server end transactions that get no statement, and those whose
// statement or answer is stuck on its way. MariaDB has a bound of its own for that; others
// have one for connections, which applies while a transaction is open.
func (c *conn) boundIdle(ctx context.Context, version string) error {
	const seconds = int(idleLimit / time.Second)
	set := fmt.Sprintf("SET SESSION net_read_timeout = %d, net_write_timeout = %[1]d", seconds)
	begin, over := "", ""
	switch {
	case strings.Contains(version, "MariaDB"):
		set += fmt.Sprintf(" /*M!100301 , idle_transaction_timeout = %d */", seconds) // to others it is a comment
	case c.singly:
		set += fmt.Sprintf(", wait_timeout = %d", seconds) // the pool replaces what it ends
	default:
		set += ", wait_timeout = DEFAULT"
		begin, over = fmt.Sprintf("SET SESSION wait_timeout = %d; ", seconds), "; SET SESSION wait_timeout = DEFAULT"
	}
	_, err := c.execText(ctx, set, nil)
	if _, refused := errors.AsType[*mysql.MySQLError](err); refused && classOf(err) == other {
		c.keeper.refused(err)
		return nil
	}
	c.kept.begin, c.kept.over = begin, over
	return err
}

// beginServer is the text that begins a transaction of a server that writes.
func (c *conn) beginServer() string { return c.kept.begin + startTransaction }

// enter begins the use of a connection for a statement. Errors: the transaction is gone.
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

// leave ends the use.
func (c *conn) leave() {
	if c.keeper == nil {
		return
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	c.kept.users--
	c.kept.last = time.Now()
}

// opened notes that a transaction is open at the server.
func (c *conn) opened() {
	c.kept.mu.Lock()
	c.kept.begun, c.kept.last = true, time.Now()
	c.kept.mu.Unlock()
	c.keeper.note(c, true)
}

// closing ends the keeper's part in a transaction before it is committed or rolled back.
// Before a commit it asks the server whether the transaction is still there, where that is
// in doubt. Errors: driver.ErrBadConn where it is not; nothing of it stands.
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

// keep sends a statement for a transaction that has not sent one for a while.
func (c *conn) keep(ctx context.Context) {
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	k := &c.kept
	if ctx.Err() == nil && k.begun && k.users == 0 && k.lost == nil && time.Since(k.last) >= keepEvery/2 {
		k.ask(c)
	}
}

// ask sends the keeper's statement. k.mu is held.
func (k *kept) ask(c *conn) {
	ctx, cancel := context.WithTimeout(context.Background(), idleLimit)
	defer cancel()
	c.keeper.sent.Add(1)
	if _, err := c.execText(ctx, keepAlive, nil); err != nil {
		k.lost = fmt.Errorf("%w: %s", driver.ErrBadConn, err.Error()) // whatever it is, the transaction runs again
		c.keeper.lost.Add(1)
		return
	}
	k.last = time.Now()
}
