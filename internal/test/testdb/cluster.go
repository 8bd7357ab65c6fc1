package testdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
)

// clusterNodes is the number of nodes in a cluster. If one node fails, the other two are still a majority.
const clusterNodes = 3

// Cluster is a database on several nodes. Each node is a server. The test may kill a node and start it
// again; the node then joins the other nodes. The cluster ends with the test.
type Cluster struct {
	Nodes []*Own

	t testing.TB
	// position returns as text which transactions a node has applied. The text is equal on nodes that have
	// applied the same transactions.
	position func(ctx context.Context, d *db.DB) (string, error)
	// writes reports whether a node accepts writes.
	writes func(ctx context.Context, d *db.DB) (bool, error)
}

// Writer waits until a node accepts writes, and returns the index of the first such node.
func (c *Cluster) Writer() int {
	c.t.Helper()
	for until := time.Now().Add(ownStart); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		for i, o := range c.Nodes {
			ok := false
			err := o.ask(func(ctx context.Context, d *db.DB) (err error) {
				ok, err = c.writes(ctx, d)
				return err
			})
			if ok && err == nil {
				return i
			}
		}
	}
	c.t.Fatalf("no node takes writes within %s", ownStart)
	return 0
}

// CreateDatabase creates an empty database on all nodes.
func (c *Cluster) CreateDatabase(name string) {
	c.t.Helper()
	if err := c.Nodes[0].execute("CREATE DATABASE `" + name + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci"); err != nil {
		c.t.Fatalf("create the database %s: %v", name, err)
	}
	c.Settle()
}

// Settle waits until every node has applied everything that any node has committed. All nodes must run, and
// nothing may write meanwhile.
func (c *Cluster) Settle() {
	c.t.Helper()
	var at []string
	for until := time.Now().Add(ownStart); time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		if at = c.positions(); equal(at) {
			return
		}
	}
	c.t.Fatalf("the nodes do not agree within %s: %q", ownStart, at)
}

// positions returns the position of each node, or the error if a node does not answer.
func (c *Cluster) positions() []string {
	at := make([]string, len(c.Nodes))
	for i, o := range c.Nodes {
		err := o.ask(func(ctx context.Context, d *db.DB) (err error) {
			at[i], err = c.position(ctx, d)
			return err
		})
		if err != nil {
			at[i] = fmt.Sprintf("node %d: %v", i+1, err)
		}
	}
	return at
}

func equal(all []string) bool {
	for _, one := range all {
		if one != all[0] {
			return false
		}
	}
	return true
}

// askedFor is how long a node may take to answer. When a node was killed, writes fail for a few seconds,
// until the other nodes notice.
const askedFor = 30 * time.Second

// ask calls question with a new connection to the server.
func (o *Own) ask(question func(ctx context.Context, d *db.DB) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), askedFor)
	defer cancel()
	d, err := db.Open(ctx, o.URL+"/information_schema", db.Options{MaxConns: 1})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return question(ctx, d)
}

// execute executes statements on one connection.
func (o *Own) execute(statements ...string) error {
	return o.ask(func(ctx context.Context, d *db.DB) error {
		for _, s := range statements {
			if _, err := d.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
}

// nodePort returns a free port that a server can use again after it was killed. The port is neither in the
// range from which the system assigns ports, nor in the range of FreePort.
func nodePort(t testing.TB) string {
	t.Helper()
	for range 100 {
		port := strconv.Itoa(10_000 + rand.N(6_000))
		if l, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return ""
}

func nodePorts(t testing.TB) []string {
	t.Helper()
	ports := make([]string, clusterNodes)
	for i := range ports {
		ports[i] = nodePort(t)
	}
	return ports
}

// there returns the first of the files that exists. If none of them exists, the test is skipped, or fails
// with REQUIRE_SERVICES=1.
func there(t testing.TB, what string, files ...string) string {
	t.Helper()
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	missing(t, what, fmt.Errorf("there is none of %q", files))
	return ""
}
