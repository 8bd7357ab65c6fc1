package db_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/sqlerror"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// digits is a WITH clause with the table d, which has ten rows. Joins of d with itself produce any
// number of rows.
const digits = "WITH d (n) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) "

// endless are statements that return one row at once and the next one after minutes. A comment in
// the statement marks it in the server's list of running statements.
var endless = map[string]string{
	"mysql":  digits + "SELECT 1 UNION ALL SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l WHERE a.n + b.n + c.n + e.n + l.n > ? /* endless */",
	"sqlite": "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000000000) SELECT n FROM c WHERE n = 1 OR n = ? /* endless */",
}

// lasting are statements that take minutes until their first row.
var lasting = map[string]string{
	"mysql":  digits + "SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h, d i, d j, d k, d l WHERE a.n + b.n + c.n + e.n + l.n > ? /* lasting */",
	"sqlite": "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000000000) SELECT COUNT(*) FROM c WHERE n > ? /* lasting */",
}

// run reads all rows of a statement.
func run(ctx context.Context, q db.Querier, text string) error {
	rows, err := q.Query(ctx, text, 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return err
		}
	}
	return rows.Err()
}

// TestCancelledStatementEnds checks that a canceled statement ends early, for the caller and
// in the database.
func TestCancelledStatementEnds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ways := map[string]func(context.Context, string) error{
			"statement": func(ctx context.Context, text string) error { return run(ctx, d, text) },
			"quick": func(ctx context.Context, text string) error {
				return d.Read(ctx, func(tx *db.Tx) error { return run(ctx, tx, text) })
			},
			"long": func(ctx context.Context, text string) error {
				return d.ReadLong(ctx, func(tx *db.Tx) error { return run(ctx, tx, text) })
			},
			"one": func(ctx context.Context, text string) error {
				return d.OneLong(ctx, func(q db.Querier) error { return run(ctx, q, text) })
			},
			"write": func(ctx context.Context, text string) error {
				return d.Write(ctx, func(tx *db.Tx) error { return run(ctx, tx, text) })
			},
		}
		for name, way := range ways {
			for kind, text := range map[string]string{"first row": lasting[d.Dialect.Name], "next row": endless[d.Dialect.Name]} {
				t.Run(name+"/"+kind, func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
					defer cancel()
					err := way(ctx, text)
					if sqlerror.Fault(err) == nil || fault.KindOf(sqlerror.Fault(err)) != fault.Transient {
						t.Errorf("ended with %v", err)
					}
					gone(t, d)
				})
			}
		}
	})
}

// gone waits until the marked statements have ended at the server.
func gone(t *testing.T, d *db.DB) {
	t.Helper()
	if d.Dialect.Name != "mysql" {
		return
	}
	for until := time.Now().Add(2 * time.Minute); ; {
		var n int
		err := d.QueryRow(t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND db = DATABASE() AND (info LIKE '%* lasting *%' OR info LIKE '%* endless *%')").Scan(&n)
		if err == nil && n == 0 {
			return
		}
		// MySQL refuses the list while a statement of another test in it has an emoji (error 3854).
		if err != nil && !strings.Contains(err.Error(), "Error 3854") {
			t.Fatal(err)
		}
		if time.Now().After(until) {
			t.Fatalf("%d statements run on, %v", n, err)
		}
	}
}

// TestSlowReadsStartOver checks that a slow read starts as a quick read, is stopped, and runs
// a second time. A fast read runs once.
func TestSlowReadsStartOver(t *testing.T) {
	slow := map[string]string{"mysql": digits + "SELECT COUNT(*) FROM d a, d b, d c, d e, d f, d g, d h WHERE a.n + b.n + c.n + e.n + h.n > ?", "sqlite": "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1500000) SELECT COUNT(*) FROM c WHERE n > ?"}
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		tx := func(do func(db.Querier) error) error { return d.Read(ctx, func(tx *db.Tx) error { return do(tx) }) }
		one := func(do func(db.Querier) error) error { return d.One(ctx, do) }
		for name, read := range map[string]func(func(db.Querier) error) error{"Read": tx, "One": one} {
			for _, c := range []struct {
				name  string
				do    func(db.Querier) error
				times int
			}{
				{"short", func(q db.Querier) error { return run(ctx, q, "SELECT 1 + ?") }, 1},
				{"long", func(q db.Querier) error { return run(ctx, q, slow[d.Dialect.Name]) }, 2},
				{"handing on", db.RequireLong, 2},
				{"long by itself", func(q db.Querier) error {
					time.Sleep(250 * time.Millisecond)
					return run(ctx, q, "SELECT 1 + ?")
				}, map[string]int{"Read": 2, "One": 1}[name]},
			} {
				var times int
				for range 10 { // on a busy machine, a short read may be slow
					times = 0
					before := d.Counts().Restarts
					if err := read(func(q db.Querier) error { times++; return c.do(q) }); err != nil {
						t.Errorf("%s, %s: %v", name, c.name, err)
					}
					if n := d.Counts().Restarts - before; n != int64(times-1) {
						t.Errorf("%s, %s: ran %d times with %d restarts", name, c.name, times, n)
					}
					if times == c.times {
						break
					}
				}
				if times != c.times {
					t.Errorf("%s, %s: ran %d times, want %d", name, c.name, times, c.times)
				}
			}
		}
		if used, _ := d.InUse(); used != 0 {
			t.Errorf("%d connections are still in use", used)
		}
	})
}

// eventually waits until the given function returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("it does not come to pass within a minute: %s", what)
		}
	}
}

// TestLongReadsOfOneMember checks that one member gets half of the long connections and waits
// for more until its requests end. Meanwhile other members' reads, quick reads and lookups
// continue.
func TestLongReadsOfOneMember(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		d.KeepStalledReaders()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		pools := d.Pools()
		long := pools[slices.IndexFunc(pools, func(p db.Pool) bool { return p.Name == "long" })].Limit
		hold := make(chan struct{})
		var all sync.WaitGroup
		var mu sync.Mutex
		running, refused := 0, 0
		for range long + 5 {
			all.Go(func() {
				err := d.ReadLong(db.WithMember(ctx, 7), func(tx *db.Tx) error {
					mu.Lock()
					running++
					mu.Unlock()
					return db.Yield(ctx, tx, func() error { <-hold; return nil })
				})
				if err != nil && fault.KindOf(err) != fault.Transient {
					t.Errorf("waiting ended with %v", err)
				}
				if err != nil {
					mu.Lock()
					refused++
					mu.Unlock()
				}
			})
		}
		share := max(1, long/2)
		eventually(t, "its share runs, and the others wait", func() bool {
			_, _, _, waiting := d.Reading()
			mu.Lock()
			defer mu.Unlock()
			return running == share && waiting == long+5-share
		})
		read := func(tx *db.Tx) error { return run(ctx, tx, "SELECT 1 + ?") }
		for name, err := range map[string]error{
			"long read of another": d.ReadLong(db.WithMember(ctx, 8), read),
			"quick read":           d.Read(db.WithMember(ctx, 7), read),
			"lookup":               d.Lookup().Read(ctx, read),
			"readiness":            d.Ping(ctx),
		} {
			if long > 1 && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		cancel()
		eventually(t, "those that wait are refused", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return refused >= long+5-share
		})
		close(hold)
		all.Wait()
		if running != share {
			t.Errorf("%d ran at a time, want %d", running, share)
		}
	})
}

// TestQuickReadsOfOneMember checks that one member leaves a connection for the quick reads of
// others.
func TestQuickReadsOfOneMember(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		hold := make(chan struct{})
		var all sync.WaitGroup
		reads := d.Pools()[0].Limit + 2
		for range reads {
			all.Go(func() {
				_ = d.Read(db.WithMember(ctx, 7), func(*db.Tx) error { <-hold; return nil })
			})
		}
		eventually(t, "all run or wait", func() bool {
			running, waiting, _, _ := d.Reading()
			return running+waiting == reads
		})
		if err := d.One(db.WithMember(ctx, 8), func(q db.Querier) error { return run(ctx, q, "SELECT 1 + ?") }); err != nil {
			t.Errorf("another member: %v", err)
		}
		close(hold)
		all.Wait()
	})
}

// TestWorkIsGivenBackAfterAPause checks that a long read that has yielded its slot continues when a
// slot is free, and that a read that ends before that does not wait for a slot.
func TestWorkIsGivenBackAfterAPause(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		gone := errors.New("the client has gone")
		aside, ends, busy := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		all.Go(func() {
			err := d.ReadLong(db.WithMember(ctx, 7), func(tx *db.Tx) error {
				return db.Yield(ctx, tx, func() error { close(aside); <-ends; return gone })
			})
			if !errors.Is(err, gone) {
				t.Errorf("ended with %v", err)
			}
			close(busy)
		})
		<-aside
		for range 2 { // member 7 may run one of them at a time on SQLite, two on a server
			all.Go(func() {
				_ = d.ReadLong(db.WithMember(ctx, 7), func(*db.Tx) error { <-busy; return nil })
			})
		}
		eventually(t, "one that begins waits, too", func() bool {
			_, _, running, waiting := d.Reading()
			return running+waiting == 3
		})
		close(ends)
		all.Wait()
	})
}

// TestWaitingForAConnectionEnds checks that a wait longer than the request's time limit ends
// with a transient error.
func TestWaitingForAConnectionEnds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, d *db.DB) {
		hold := make(chan struct{})
		var all sync.WaitGroup
		quick := d.Pools()[0].Limit
		for range quick {
			all.Go(func() {
				_ = d.Read(t.Context(), func(*db.Tx) error { <-hold; return nil })
			})
		}
		eventually(t, "all run or wait", func() bool {
			running, waiting, _, _ := d.Reading()
			return running+waiting == quick
		})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		for name, err := range map[string]error{
			"Read": d.Read(ctx, func(tx *db.Tx) error { return nil }),
			"One":  d.One(ctx, func(q db.Querier) error { return run(ctx, q, "SELECT 1 + ?") }),
		} {
			if fault.KindOf(err) != fault.Transient || errors.Is(err, db.ErrSlow) {
				t.Errorf("%s: waiting ended with %v", name, err)
			}
		}
		close(hold)
		all.Wait()
	})
}
