package feed

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// waiting waits until the number of requests that wait for changes is exactly want.
func waiting(t *testing.T, l *Log, want int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		n, polling := l.waiting, l.polling
		l.mu.Unlock()
		if n == want && polling == (want > 0) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d wait, want %d; somebody looks: %v", n, want, polling)
		}
	}
}

// TestWhoWaitsIsWokenByAWrite checks that a write of this process or of another process wakes a
// waiting request. Nothing else may wake the request.
func TestWhoWaitsIsWokenByAWrite(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		commit(t, d, 71, 1001, 1001)
		head, err := l.Advance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const n = 20
		for i, tell := range []bool{true, false} {
			woken := make(chan error, n)
			for range n {
				go func() { woken <- l.Wait(t.Context(), head) }()
			}
			waiting(t, l, n)
			select {
			case err := <-woken:
				t.Fatalf("woken by nothing: %v", err)
			case <-time.After(2 * pollPause):
			}
			commit(t, d, int64(72+i), head+5, head+5)
			if tell {
				l.Committed()
			}
			for range n {
				select {
				case err := <-woken:
					if err != nil {
						t.Error(err)
					}
				case <-time.After(time.Minute):
					t.Fatalf("nobody is woken; the process was told: %v", tell)
				}
			}
			waiting(t, l, 0)
			if err := l.Wait(t.Context(), head); err != nil { // there is already a position above head
				t.Error(err)
			}
			head += 5
		}
	})
}

// TestWhoWaitsAfterALossOfWrites checks a request after the database has lost its last writes. The
// log has seen a later position before. The request must still wait for the next write.
func TestWhoWaitsAfterALossOfWrites(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		commit(t, d, 71, 1001, 1001)
		head, err := l.Advance(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		l.move(head + 5)
		for end := time.Now().Add(2 * time.Minute); ; {
			ctx, cancel := context.WithTimeout(t.Context(), pollPause)
			err := l.Wait(ctx, head)
			cancel()
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("the wait ends at once: %v", err)
			}
		}
		woken := make(chan error, 1)
		go func() { woken <- l.Wait(t.Context(), head) }()
		waiting(t, l, 1)
		commit(t, d, 72, head+1, head+1)
		if err := <-woken; err != nil {
			t.Error(err)
		}
		waiting(t, l, 0)
	})
}

// TestWhoGoesWaitsNoMore checks that other requests continue to wait when one request ends. Polling
// must stop when all requests have ended.
func TestWhoGoesWaitsNoMore(t *testing.T) {
	d := testdb.SQLite(t)
	l := newLog(d)
	ctx, leave := context.WithCancel(t.Context())
	gone, stays := make(chan error, 1), make(chan error, 1)
	go func() { gone <- l.Wait(ctx, 0) }()
	go func() { stays <- l.Wait(t.Context(), 0) }()
	waiting(t, l, 2)
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("who goes is told %v", err)
	}
	waiting(t, l, 1)
	commit(t, d, 71, 1001, 1001)
	l.Committed()
	if err := <-stays; err != nil {
		t.Error(err)
	}
	waiting(t, l, 0)
	l.Committed() // no request waits
	if n := len(l.poke); n != 0 {
		t.Errorf("%d pokes for nobody", n)
	}
}

// TestAFailureIsToldOnce checks that requests continue to wait while the database cannot be read.
// The failure must be logged only once.
func TestAFailureIsToldOnce(t *testing.T) {
	d, err := db.Open(t.Context(), testdb.URL(t, "sqlite"), db.Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := NewLog(d, slog.New(slog.NewTextHandler(&out, nil)))
	ctx, cancel := context.WithTimeout(t.Context(), 3*pollEvery)
	defer cancel()
	if err := l.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the wait ends with %v", err)
	}
	waiting(t, l, 0)
	if n := strings.Count(out.String(), "cannot look for new changes"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}
