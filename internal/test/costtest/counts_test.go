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

// counts are amounts of work that a process has done since it started. A few fields are measured
// differently.
type counts struct {
	Allocated  int64 // bytes that Go has allocated
	Processor  int64 // processor time, in microseconds
	Statements int64 // statements of SQLite
	Steps      int64 // instructions of SQLite's virtual machine, in thousands
	Read       int64 // rows that SQLite returned
	Written    int64 // rows that SQLite changed
	Held       int64 // longest write transaction since the last reset, as processor time of the process, in microseconds
	HeldSteps  int64 // longest write transaction since the last reset, in thousands of instructions of SQLite

	Turns     int64 // write transactions, and savepoints of writes that share a transaction
	TurnSteps int64 // instructions in all write transactions, in thousands
	Writing   bool  // true: a write transaction is open now
}

// sqliteCounts has the counters that SQLite's callbacks update, over all connections of the process.
var sqliteCounts struct {
	statements, steps, read, written atomic.Int64

	turns, turnOps, turnSteps atomic.Int64

	began, held          atomic.Int64 // processor time: at the start of the write transaction, and of the longest one
	writer               atomic.Uint64
	firstStep, heldSteps atomic.Int64 // turnSteps at the start of the write transaction; steps of the longest one
}

// countSQLite makes SQLite count the work of all connections that are opened later.
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

// pointer returns the address of a function that SQLite can call. The function must not be a closure.
func pointer[T any](f T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&struct{ f T }{f})) //nolint:gosec // the driver does the same
}

// onSteps is a callback. SQLite calls it after each thousand instructions of a connection.
func onSteps(*libc.TLS, uintptr) int32 {
	sqliteCounts.steps.Add(1)
	return 0
}

// countTurn adds the instructions of a statement that has ended, if it ran on the connection with the write
// transaction. On this connection the driver replaces onSteps, so onSteps does not count the instructions.
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

// onTrace is a callback. SQLite calls it for each statement that begins, with its text, for each row that
// is returned, and for each statement that ends.
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
	case strings.HasPrefix(begin, "SAVEPOINT shared"): // a write that joins the transaction of another write
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

// processor returns the processor time that the process has used, in microseconds.
func processor() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano()/1000 + u.Stime.Nano()/1000
}

// look returns the counts of this process. If peeks is false, it also resets the longest write transaction.
func look(peeks bool) counts {
	c := &sqliteCounts
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	n := counts{
		Allocated: int64(sample[0].Value.Uint64()), Processor: processor(), //nolint:gosec // fits into an int64
		Statements: c.statements.Load(), Steps: c.steps.Load(), Read: c.read.Load(), Written: c.written.Load(),
		Turns: c.turns.Load(), TurnSteps: c.turnSteps.Load(), Writing: c.began.Load() > 0,
	}
	if !peeks {
		n.Held, n.HeldSteps = c.held.Swap(0), c.heldSteps.Swap(0)
	}
	return n
}

// peeking is the URL query that requests the counts without resetting them.
const peeking = "peek"

// tellCounts serves the counts of this process over HTTP. It returns only with an error.
func tellCounts(addr string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { //nolint:gosec // only the test connects
		_ = json.NewEncoder(w).Encode(look(r.URL.RawQuery == peeking))
	}))
}

// looked requests the counts of a process. If there is a database server, it adds the work of the server.
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

// since returns the work that was done between the counts before and n. Held and HeldSteps stay as in n.
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
