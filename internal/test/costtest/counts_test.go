package costtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"modernc.org/libc"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// counts are what a process has done since it began.
type counts struct {
	Allocated  int64 // bytes, by Go
	Processor  int64 // time that it used, in microseconds
	Statements int64 // of SQLite
	Steps      int64 // instructions of SQLite's machine, in thousands
	Read       int64 // rows that SQLite gave to the process
	Written    int64 // rows that SQLite changed
	Held       int64 // the longest that the writer was held, as time that the process used meanwhile, in microseconds; since the last look
	HeldSteps  int64 // likewise, in thousand steps of the transaction

	Turns     int64 // writes that had their turn
	TurnSteps int64 // thousand steps of all of them
	Writing   bool  // one has it now
}

// sqliteCounts are filled by SQLite's own callbacks, on every connection of the process.
var sqliteCounts struct {
	statements, steps, read, written atomic.Int64

	turns, turnOps, turnSteps atomic.Int64

	began, held          atomic.Int64 // processor time when the write transaction began, and of the longest
	writer               atomic.Uint64
	firstStep, heldSteps atomic.Int64 // of turnSteps when it began; of the longest
}

// countSQLite counts what all connections do that are opened from now on.
func countSQLite() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
		handle := reflect.ValueOf(c).Elem().FieldByName("db")
		tls := libc.NewTLS()
		defer tls.Close()
		lib.Xsqlite3_progress_handler(tls, uintptr(handle.Uint()), 1000, pointer(onSteps), 0)
		const mask = lib.SQLITE_TRACE_STMT | lib.SQLITE_TRACE_ROW | lib.SQLITE_TRACE_PROFILE
		if rc := lib.Xsqlite3_trace_v2(tls, uintptr(handle.Uint()), mask, pointer(onTrace), uintptr(handle.Uint())); rc != lib.SQLITE_OK {
			return fmt.Errorf("SQLite cannot be traced: %d", rc)
		}
		return nil
	})
}

// pointer is what SQLite calls a function by, which is no closure.
func pointer[T any](f T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) //nolint:gosec // as the driver does it
}

// onSteps is called by a connection after each thousand steps.
func onSteps(*libc.TLS, uintptr) int32 {
	sqliteCounts.steps.Add(1)
	return 0
}

// countTurn adds the steps of a statement that has ended, if it is one of the writer: there the
// driver puts a callback of its own in the place of onSteps.
func countTurn(tls *libc.TLS, db, statement uintptr) {
	c := &sqliteCounts
	if c.writer.Load() != uint64(db) {
		return
	}
	before := c.turnOps.Load()
	now := c.turnOps.Add(int64(lib.Xsqlite3_stmt_status(tls, statement, lib.SQLITE_STMTSTATUS_VM_STEP, 1)))
	c.turnSteps.Add(now/1000 - before/1000)
	c.steps.Add(now/1000 - before/1000)
}

// onTrace is called for each statement that begins, with its text, for each row, and for each
// statement that ends.
func onTrace(tls *libc.TLS, what uint32, db, statement, text uintptr) int32 {
	c := &sqliteCounts
	switch what {
	case lib.SQLITE_TRACE_ROW:
		c.read.Add(1)
		return 0
	case lib.SQLITE_TRACE_PROFILE:
		countTurn(tls, db, statement)
		return 0
	}
	c.statements.Add(1)
	if os.Getenv(showsSQL) != "" {
		fmt.Fprintf(os.Stderr, "SQL %.300s\n", strings.Join(strings.Fields(libc.GoString(text)), " "))
	}
	switch begin := libc.GoString(text); {
	case strings.HasPrefix(begin, "BEGIN IMMEDIATE"), strings.HasPrefix(begin, "begin immediate"):
		c.began.Store(processor())
		c.turns.Add(1)
		c.writer.Store(uint64(db))
		c.firstStep.Store(c.turnSteps.Load())
		c.written.Add(-int64(lib.Xsqlite3_total_changes(tls, db)))
	case strings.HasPrefix(begin, "SAVEPOINT shared"): // the turn of a write that shares the transaction
		c.turns.Add(1)
	case strings.HasPrefix(begin, "COMMIT"), strings.HasPrefix(begin, "ROLLBACK") && !strings.HasPrefix(begin, "ROLLBACK TO"):
		if from := c.began.Swap(0); from > 0 {
			c.held.Store(max(c.held.Load(), processor()-from))
			c.heldSteps.Store(max(c.heldSteps.Load(), c.turnSteps.Load()-c.firstStep.Load()))
			c.writer.Store(0)
			c.written.Add(int64(lib.Xsqlite3_total_changes(tls, db)))
		}
	}
	return 0
}

// processor is the time that the process has used, in microseconds.
func processor() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano()/1000 + u.Stime.Nano()/1000
}

// look is the counts so far, of the process that it runs in. Unless it only peeks, what is
// the longest begins anew.
func look(peeks bool) counts {
	c := &sqliteCounts
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	n := counts{
		Allocated: int64(sample[0].Value.Uint64()), Processor: processor(), //nolint:gosec // far less
		Statements: c.statements.Load(), Steps: c.steps.Load(), Read: c.read.Load(), Written: c.written.Load(),
		Turns: c.turns.Load(), TurnSteps: c.turnSteps.Load(), Writing: c.began.Load() > 0,
	}
	if !peeks {
		n.Held, n.HeldSteps = c.held.Swap(0), c.heldSteps.Swap(0)
	}
	return n
}

// peeking is the query of a look that changes nothing.
const peeking = "peek"

// tellCounts answers each request with the counts.
func tellCounts(addr string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // on this machine
		_ = json.NewEncoder(w).Encode(look(r.URL.RawQuery == peeking))
	}))
}

// looked asks a process, and its server, for the counts.
func (s *service) looked(ctx context.Context, query string) (n counts, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.counts+"?"+query, nil)
	if err != nil {
		return n, err
	}
	res, err := s.client.Do(req)
	if err != nil {
		return n, err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&n); err != nil || s.server == nil {
		return n, err
	}
	return n, s.server.add(ctx, &n)
}

// since is what was done after another look.
func (n counts) since(before counts) counts {
	return counts{
		Allocated: n.Allocated - before.Allocated, Processor: n.Processor - before.Processor, Statements: n.Statements - before.Statements,
		Steps: n.Steps - before.Steps, Read: n.Read - before.Read, Written: n.Written - before.Written, Held: n.Held, HeldSteps: n.HeldSteps,
		Turns: n.Turns - before.Turns, TurnSteps: n.TurnSteps - before.TurnSteps,
	}
}

func (n counts) String() string {
	return fmt.Sprintf("allocated %.1f MiB, processor %d ms, %d statements, %d thousand steps, %d rows read, %d written, writer held for %d ms and %d thousand steps, %d turns",
		float64(n.Allocated)/(1<<20), n.Processor/1000, n.Statements, n.Steps, n.Read, n.Written, n.Held/1000, n.HeldSteps, n.Turns)
}
