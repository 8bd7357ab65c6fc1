package testproc

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Becomes waits up to AnswersIn until a URL answers with a status, and reports whether it did. 0 means any
// status.
func Becomes(ctx context.Context, url string, status int) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(AnswersIn); time.Now().Before(end) && ctx.Err() == nil; <-tick.C {
		if res, err := http.Get(url); err == nil { //nolint:gosec,noctx // a service of the test
			_ = res.Body.Close()
			if status == 0 || res.StatusCode == status {
				return true
			}
		}
	}
	return false
}

// The ports of FreeAddr. The system does not assign them automatically, so no other program uses one
// between the choice and the start of the service.
const (
	firstPort = 16_000
	ports     = 16_000
)

// FreeAddr returns an unused host:port of this machine.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(firstPort+rand.N(ports)))
		if err == nil {
			_ = l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Log stores the last lines that processes wrote, up to keptLines writes.
type Log struct {
	mu    sync.Mutex
	lines []string
}

const keptLines = 80

// Write adds one line of a logger, or several lines of a process.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(b))
	l.lines = l.lines[max(0, len(l.lines)-keptLines):]
	return len(b), nil
}

// String returns the stored lines.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "")
}

// last returns the last lines, at most n.
func (l *Log) last(n int) string {
	lines := strings.SplitAfter(strings.TrimRight(l.String(), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
