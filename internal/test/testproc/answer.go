package testproc

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/test/testdb"
)

// Becomes requests a URL until the answer has the status, or any status if status is 0. It returns false if
// that takes longer than AnswersIn.
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

// FreeAddr returns a host:port of this machine that nothing uses. Each call returns a different address.
func FreeAddr(t testing.TB) string {
	t.Helper()
	return "127.0.0.1:" + testdb.Port(t)
}

// Log stores the output of processes. It keeps the latest calls of Write, at most keptLines.
type Log struct {
	mu    sync.Mutex
	lines []string
}

const keptLines = 80

// Write stores one line of a logger, or several lines of a process.
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
