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
}

// sqliteCounts are filled by SQLite's own callbacks, on every connection of the process.
var sqliteCounts struct {
	statements, steps, read, written atomic.Int64

	began, held atomic.Int64 // processor time when the write transaction began, and of the longest
}

// countSQLite counts what all connections do that are opened from now on.
func countSQLite() {
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, _ string) error {
		handle := reflect.ValueOf(c).Elem().FieldByName("db")
		tls := libc.NewTLS()
		defer tls.Close()
		lib.Xsqlite3_progress_handler(tls, uintptr(handle.Uint()), 1000, pointer(onSteps), 0)
		const mask = lib.SQLITE_TRACE_STMT | lib.SQLITE_TRACE_ROW
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

func onSteps(*libc.TLS, uintptr) int32 {
	sqliteCounts.steps.Add(1)
	return 0
}

// onTrace is called for each statement that begins, with its text, and each row.
func onTrace(tls *libc.TLS, what uint32, db, _, text uintptr) int32 {
	c := &sqliteCounts
	if what == lib.SQLITE_TRACE_ROW {
		c.read.Add(1)
		return 0
	}
	c.statements.Add(1)
	if os.Getenv(showsSQL) != "" {
		fmt.Fprintf(os.Stderr, "SQL %.300s\n", strings.Join(strings.Fields(libc.GoString(text)), " "))
	}
	switch begin := libc.GoString(text); {
	case strings.HasPrefix(begin, "BEGIN IMMEDIATE"), strings.HasPrefix(begin, "begin immediate"):
		c.began.Store(processor())
		c.written.Add(-int64(lib.Xsqlite3_total_changes(tls, db)))
	case strings.HasPrefix(begin, "COMMIT"), strings.HasPrefix(begin, "ROLLBACK") && !strings.HasPrefix(begin, "ROLLBACK TO"):
		if from := c.began.Swap(0); from > 0 {
			c.held.Store(max(c.held.Load(), processor()-from))
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

// look is the counts so far, of the process that it runs in.
func look() counts {
	c := &sqliteCounts
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return counts{
		Allocated: int64(sample[0].Value.Uint64()), Processor: processor(), //nolint:gosec // far less
		Statements: c.statements.Load(), Steps: c.steps.Load(), Read: c.read.Load(), Written: c.written.Load(),
		Held: c.held.Swap(0),
	}
}

// tellCounts answers each request with the counts.
func tellCounts(addr string) error {
	return http.ListenAndServe(addr, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { //nolint:gosec // on this machine
		_ = json.NewEncoder(w).Encode(look())
	}))
}

// looked asks a process for its counts.
func looked(ctx context.Context, c *http.Client, addr string) (n counts, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr, nil)
	if err != nil {
		return n, err
	}
	res, err := c.Do(req)
	if err != nil {
		return n, err
	}
	defer func() { _ = res.Body.Close() }()
	return n, json.NewDecoder(res.Body).Decode(&n)
}

// since is what was done after another look.
func (n counts) since(before counts) counts {
	return counts{
		n.Allocated - before.Allocated, n.Processor - before.Processor, n.Statements - before.Statements,
		n.Steps - before.Steps, n.Read - before.Read, n.Written - before.Written, n.Held,
	}
}

func (n counts) String() string {
	return fmt.Sprintf("allocated %.1f MiB, processor %d ms, %d statements, %d thousand steps, %d rows read, %d written, writer held for %d ms",
		float64(n.Allocated)/(1<<20), n.Processor/1000, n.Statements, n.Steps, n.Read, n.Written, n.Held/1000)
}
