package testdb

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"
)

// redisDatabases is the number of databases that a Redis server has by default. Tests do not use database
// 0. It only has the marks of the databases in use.
const redisDatabases = 16

// Redis returns the redis:// URL of an empty Redis database. No other test uses the database until this
// test ends.
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
	for until := time.Now().Add(15 * time.Minute); time.Now().Before(until); <-time.After(50 * time.Millisecond) {
		for n := 1; n < redisDatabases; n++ {
			mark := fmt.Sprintf("alds_test_db_%d", n)
			if c.do("SET", mark, owner(), "NX", "EX", "14400") != "+OK" && !c.takeOver(mark) {
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

// owner returns the value of a mark, which says who uses a database: the host and the id of this process.
func owner() string {
	host, _ := os.Hostname() // empty if the host has no name
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// takeOver makes this process the owner of a mark, if the process that owned it ran on this host and was
// killed. It reports whether it has done that.
func (c *redisConn) takeOver(mark string) bool {
	old := c.do("GET", mark)
	pid, err := strconv.Atoi(path.Base(old))
	if err != nil || path.Dir(old) != path.Dir(owner()) || !HasEnded(pid) {
		return false
	}
	const ifUnchanged = `if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("SET", KEYS[1], ARGV[2], "EX", "14400")
	end`
	return c.do("EVAL", ifUnchanged, "1", mark, old, owner()) == "+OK"
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

// do sends a command. It returns the line of the answer, or for a text the text itself.
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
	if err == nil && strings.HasPrefix(line, "$") && !strings.HasPrefix(line, "$-") {
		line, err = c.in.ReadString('\n')
	}
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
