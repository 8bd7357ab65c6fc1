package testdb

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
)

// redisDatabases is the number of databases that a Redis server has by default. Tests do not use number 0,
// except for the marks of the databases in use.
const redisDatabases = 16

// Redis returns the redis:// URL of an empty Redis database that no other test uses until this
// one ends.
func Redis(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(redisAddress())
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	c, err := dialRedis(u.Host, password)
	if err != nil {
		missing(t, "Redis", err)
	}
	t.Cleanup(func() { _ = c.conn.Close() })
	for until := time.Now().Add(time.Minute); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		for n := 1; n < redisDatabases; n++ {
			mark := fmt.Sprintf("alds_test_db_%d", n)
			if c.do("SET", mark, fmt.Sprint(os.Getpid()), "NX", "EX", "900") != "+OK" {
				continue
			}
			c.flush(n)
			t.Cleanup(func() { c.flush(n); c.do("DEL", mark) })
			u.Path = fmt.Sprintf("/%d", n)
			return u.String()
		}
	}
	t.Fatal("every Redis database is taken by another test")
	return ""
}

// redisConn implements the few commands that the tests need. Only package jobs may use the real client.
type redisConn struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialRedis(host, password string) (*redisConn, error) {
	conn, err := net.DialTimeout("tcp", host, 2*time.Second)
	if err != nil {
		return nil, err
	}
	c := &redisConn{conn: conn, in: bufio.NewReader(conn)}
	if password != "" {
		c.do("AUTH", password)
	}
	if answer := c.do("PING"); answer != "+PONG" {
		_ = conn.Close()
		return nil, fmt.Errorf("PING was answered %q", answer)
	}
	return c, nil
}

// do sends a command whose answer is one line, and returns that line.
func (c *redisConn) do(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := c.conn.Write([]byte(b.String())); err != nil {
		return err.Error()
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(line)
}

func (c *redisConn) flush(n int) {
	c.do("SELECT", fmt.Sprint(n))
	c.do("FLUSHDB")
	c.do("SELECT", "0")
}
