package db_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/test/testdb"
)

// pair is a writer and a second database in the role of its replica. The test does the work
// of replication.
type pair struct {
	writer, replica *db.DB // separate handles for the test
	both            *db.DB // the handle under test: the writer, with the replica
	way             *way   // the connection from both to the replica
}

const (
	position = `SELECT COALESCE(SUM(writes), 0) FROM member_write WHERE member_id IN (?, 0)`
	progress = `SELECT COALESCE(SUM(lock_count), 0) FROM write_lock`
)

func newPair(t *testing.T) *pair {
	t.Helper()
	at := [2]string{testdb.URL(t, "mysql"), testdb.URL(t, "mysql")}
	p := &pair{way: newWay(t, at[1])}
	p.writer, p.replica = openAt(t, at[0], db.Replicas{}), openAt(t, at[1], db.Replicas{})
	p.both = openAt(t, at[0], db.Replicas{Addresses: []string{p.way.address}, Position: position, Progress: progress})
	var same int64 // the times of the migrations, which replication would have copied
	if err := p.writer.QueryRow(t.Context(), `SELECT MAX(applied_at) FROM schema_migration`).Scan(&same); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*db.DB{p.writer, p.replica} {
		doAt(t, d, `UPDATE schema_migration SET applied_at = ?`, same)
	}
	doAt(t, p.writer, `INSERT INTO sequence (name, value, stamped_at) VALUES ('where', 1, 0)`)
	doAt(t, p.replica, `INSERT INTO sequence (name, value, stamped_at) VALUES ('where', 2, 0)`)
	p.both.LookEvery(20 * time.Millisecond)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.both.WatchReplicas(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	p.await(t, true)
	return p
}

func openAt(t *testing.T, url string, r db.Replicas) *db.DB {
	t.Helper()
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 8, Replicas: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func doAt(t *testing.T, d *db.DB, query string, args ...any) {
	t.Helper()
	if _, err := d.Exec(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// await waits until the replica is in use, or is left out.
func (p *pair) await(t *testing.T, used bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if all, _ := p.both.ReplicaStates(); all[0].Used == used {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("it does not come to pass that the replica is in use: %v", used)
		}
	}
}

// This method returns on which server each kind of read runs: w for the writer, r for the replica.
func (p *pair) where(ctx context.Context, t *testing.T) string {
	t.Helper()
	d, got := p.both.Elsewhere(), ""
	ask := func(q db.Querier) error {
		var n int
		err := q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, "where").Scan(&n)
		got += " wr"[n : n+1]
		return err
	}
	inTx := func(tx *db.Tx) error { return ask(tx) }
	for _, read := range []func() error{
		func() error { return d.One(ctx, ask) }, func() error { return d.OneLong(ctx, ask) },
		func() error { return d.Read(ctx, inTx) }, func() error { return d.ReadLong(ctx, inTx) },
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestReadsGoToAReplicaThatHasWhatTheirMemberHasWritten(t *testing.T) {
	p := newPair(t)
	member := db.WithMember(t.Context(), 20)
	other := db.WithMember(t.Context(), 21)
	write := func(d *db.DB, member int64) {
		doAt(t, d, `INSERT INTO member_write (member_id, slot, writes) VALUES (?, 7, 1) ON DUPLICATE KEY UPDATE writes = writes + 1`, member)
	}
	for _, c := range []struct {
		what  string
		write func()
		ctx   context.Context
		want  string
	}{
		{"at first", func() {}, member, "rrrr"},
		{"without a member", func() {}, t.Context(), "wwww"},
		{"a member who asks for all", func() {}, db.WithConsistency(member, db.Strong), "wwww"},
		{"a member who has written", func() { write(p.writer, 20) }, member, "wwww"},
		{"one who has not", func() {}, other, "rrrr"},
		{"one who takes what there is", func() {}, db.WithConsistency(member, db.Eventual), "rrrr"},
		{"when the replica has the write", func() { write(p.replica, 20); p.both.ForgetBehind() }, member, "rrrr"},
		{"when rights have changed", func() { write(p.writer, 0) }, other, "wwww"},
		{"and nobody takes less than that", func() {}, db.WithConsistency(member, db.Eventual), "wwww"},
		{"when the replica has that", func() { write(p.replica, 0); p.both.ForgetBehind() }, other, "rrrr"},
	} {
		c.write()
		if got := p.where(c.ctx, t); got != c.want {
			t.Errorf("%s: reads on %s, want %s", c.what, got, c.want)
		}
	}
	if got := p.where(member, t); got != "rrrr" {
		t.Fatalf("reads on %s", got)
	}
	var n int // reads that do not use Elsewhere run on the writer
	err := p.both.Read(member, func(tx *db.Tx) error {
		return tx.QueryRow(member, `SELECT value FROM sequence WHERE name = ?`, "where").Scan(&n)
	})
	if err != nil || n != 1 {
		t.Errorf("a read that is no query: server %d, %v", n, err)
	}
}

func TestAReplicaIsNotWritten(t *testing.T) {
	p := newPair(t)
	ctx := db.WithMember(t.Context(), 20)
	asked := 0
	err := p.both.Elsewhere().One(ctx, func(q db.Querier) error {
		if asked++; asked > 1 {
			return nil // the second run is on the writer
		}
		return db.Each(ctx, q, `UPDATE sequence SET value = 3 WHERE name = ?`, []any{"where"}, func(db.Scanner) error { return nil })
	})
	if err != nil || asked != 2 {
		t.Errorf("%v, asked %d times: the replica has not refused a write", err, asked)
	}
	var there int
	if err := p.replica.QueryRow(t.Context(), `SELECT value FROM sequence WHERE name = 'where'`).Scan(&there); err != nil || there != 2 {
		t.Errorf("the replica was written: %d, %v", there, err)
	}
}

// A replica that does not answer is left out. If it hangs, it is left out within seconds. Its reads
// are repeated on the writer, unless a part of the answer was already sent to a client.
func TestAReplicaThatIsGoneIsLeftOut(t *testing.T) {
	t.Parallel() // it mostly waits
	p := newPair(t)
	ctx := db.WithMember(t.Context(), 20)
	if got := p.where(ctx, t); got != "rrrr" {
		t.Fatalf("reads on %s", got)
	}
	p.way.close()
	if got := p.where(ctx, t); got != "wwww" {
		t.Errorf("without the replica reads run on %s", got)
	}
	p.await(t, false)
	p.way.open()
	p.await(t, true)
	if got := p.where(ctx, t); got != "rrrr" {
		t.Errorf("when the replica is back reads run on %s", got)
	}

	sent := false
	err := p.both.Elsewhere().OneLong(ctx, func(q db.Querier) error {
		if sent {
			t.Error("what a client has a part of is read again")
		}
		if err := db.Yield(ctx, q, func() error { sent = true; return nil }); err != nil {
			return err
		}
		p.way.close()
		var n int
		return q.QueryRow(ctx, `SELECT value FROM sequence WHERE name = ?`, "where").Scan(&n)
	})
	if err == nil {
		t.Error("a read of which a part was sent goes on without its server")
	}
	p.way.open()
	p.await(t, true)

	p.way.hang()
	kept, cancel := context.WithTimeout(ctx, time.Minute) // shorter than the time limit for an answer of the server
	defer cancel()
	if got := p.where(kept, t); got != "wwww" {
		t.Errorf("when the replica hangs reads run on %s", got)
	}
	_, counts := p.both.ReplicaStates()
	if counts.Writer[db.WhyRefused] == 0 || counts.Replica == 0 {
		t.Errorf("counts %+v", counts)
	}
}

func TestAnotherDatabaseIsNoReplica(t *testing.T) {
	p := newPair(t)
	doAt(t, p.replica, `UPDATE schema_migration SET applied_at = applied_at + 1`)
	p.await(t, false)
	if got := p.where(db.WithMember(t.Context(), 20), t); got != "wwww" {
		t.Errorf("reads run on %s", got)
	}
}

func TestSQLiteHasNoReplicas(t *testing.T) {
	d, err := db.Open(t.Context(), testdb.EmptyURL(t, "sqlite"), db.Options{Replicas: db.Replicas{Addresses: []string{"mysql://h/d"}}})
	if err == nil {
		_ = d.Close()
		t.Error("it has")
	}
}

// way is a connection to a server. It can be closed, or can drop all data.
type way struct {
	address string // address of the database through this way
	server  string

	mu             sync.Mutex
	closed, silent bool
	conns          []net.Conn
}

func newWay(t *testing.T, address string) *way {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{server: u.Host}
	t.Cleanup(func() { _ = l.Close(); w.close() })
	u.Host = l.Addr().String()
	w.address = u.String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c)
		}
	}()
	return w
}

func (w *way) serve(from net.Conn) {
	to, err := net.Dial("tcp", w.server)
	if err != nil {
		_ = from.Close()
		return
	}
	w.mu.Lock()
	closed := w.closed
	w.conns = append(w.conns, from, to)
	w.mu.Unlock()
	if closed {
		_, _ = from.Close(), to.Close()
		return
	}
	go func() { _, _ = io.Copy(from, to); _, _ = from.Close(), to.Close() }()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		w.mu.Lock()
		silent := w.silent
		w.mu.Unlock()
		if err == nil && !silent {
			_, err = to.Write(b[:n])
		}
		if err != nil {
			_, _ = from.Close(), to.Close()
			return
		}
	}
}

// close closes all connections and refuses new ones.
func (w *way) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func (w *way) open() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = false
}

// hang keeps connections, and forwards nothing to the server.
func (w *way) hang() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}
