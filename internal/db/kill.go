package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	killers     = 2               // connections that end statements
	killsQueued = 1000            // statements waiting to be ended; what is more, the server's own limit ends
	killTimeout = 5 * time.Second // of one KILL
)

// killer ends at the server what runs on connections that were given up: the
// driver only closes its side when a context ends, and the server would work on
// until it has something to send. It is safe for concurrent use.
type killer struct {
	pool  *sql.DB
	ids   chan int64
	ended chan struct{}
	end   func() // closes ended, once
	wait  sync.WaitGroup
	kills atomic.Int64
}

// newKiller returns a killer with a few connections of its own, which are made
// when there is something to end.
func newKiller(c driver.Connector) *killer {
	k := &killer{pool: sql.OpenDB(c), ids: make(chan int64, killsQueued), ended: make(chan struct{})}
	k.end = sync.OnceFunc(func() { close(k.ended) })
	k.pool.SetMaxOpenConns(killers)
	k.pool.SetConnMaxIdleTime(time.Minute)
	for range killers {
		k.wait.Go(k.run)
	}
	return k
}

// kill has what runs on a connection ended. The connection must not be used any
// more: its number is all that the server is told.
func (k *killer) kill(id int64) {
	select {
	case k.ids <- id:
	default:
	}
}

func (k *killer) run() {
	for {
		select {
		case <-k.ended:
			return
		case id := <-k.ids:
			ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
			if _, err := k.pool.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10)); err == nil { // else it has ended by itself
				k.kills.Add(1)
			}
			cancel()
		}
	}
}

// close ends the killer; it waits for a KILL that is being sent. It may be called
// again, as closing a pool may.
func (k *killer) close() error {
	k.end()
	k.wait.Wait()
	return k.pool.Close()
}

// connectionID asks the server for the number of a connection.
func connectionID(ctx context.Context, c driver.QueryerContext) (int64, error) {
	rows, err := c.QueryContext(ctx, "SELECT CONNECTION_ID()", nil)
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return 0, err
	}
	switch v := row[0].(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(v), nil
	case []byte:
		return strconv.ParseInt(string(v), 10, 64)
	}
	return 0, fmt.Errorf("the number of a connection is a %T", row[0])
}
