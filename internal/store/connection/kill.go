package connection

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
	killers     = 2               // number of connections that send KILLs
	killsQueued = 1000            // maximum of queued KILLs; other statements end at the server's time limit
	killTimeout = 5 * time.Second // time limit of one KILL
)

// killer kills the statements of abandoned connections on the server. When a context ends, the
// driver only closes its side of the connection. The server runs the statement until it has
// something to send. It is safe for concurrent use.
type killer struct {
	pool  *sql.DB
	ids   chan int64
	ended chan struct{}
	end   func() // closes ended, once
	wait  sync.WaitGroup
	kills atomic.Int64
}

// newKiller returns a killer with its own connections, opened on demand.
func newKiller(c driver.Connector) *killer {
	k := &killer{pool: sql.OpenDB(c), ids: make(chan int64, killsQueued), ended: make(chan struct{})}
	k.end = sync.OnceFunc(func() { close(k.ended) })
	k.pool.SetMaxOpenConns(killers)
	k.pool.SetConnMaxIdleTime(time.Minute)
	for range killers {
		k.wait.Go(k.work)
	}
	return k
}

// kill queues the KILL of a connection, unless the queue is full. The connection must not be used
// any more.
func (k *killer) kill(id int64) {
	select {
	case k.ids <- id:
	default:
	}
}

func (k *killer) work() {
	for {
		select {
		case <-k.ended:
			return
		case id := <-k.ids:
			ctx, cancel := context.WithTimeout(context.Background(), killTimeout)
			if _, err := k.pool.ExecContext(ctx, "KILL "+strconv.FormatInt(id, 10)); err == nil { // else it has ended already
				k.kills.Add(1)
			}
			cancel()
		}
	}
}

// close waits for the current KILL and closes the connections. It may be called several
// times.
func (k *killer) close() error {
	k.end()
	k.wait.Wait()
	return k.pool.Close()
}

// identify returns the server's number of a connection, and the server's version.
func identify(ctx context.Context, c driver.QueryerContext) (id int64, version string, err error) {
	rows, err := c.QueryContext(ctx, "SELECT CONNECTION_ID(), VERSION()", nil)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 2)
	if err := rows.Next(row); err != nil {
		return 0, "", err
	}
	version = fmt.Sprintf("%s", row[1]) // a string or bytes
	switch v := row[0].(type) {
	case int64:
		return v, version, nil
	case uint64:
		return int64(v), version, nil
	case []byte:
		id, err = strconv.ParseInt(string(v), 10, 64)
		return id, version, err
	}
	return 0, "", fmt.Errorf("the id of a connection has the unknown type %T", row[0])
}
