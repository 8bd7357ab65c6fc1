package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"

	"github.com/alds-dev/alds/internal/store/connection"
	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Statement is the text of a statement and its arguments.
type Statement struct {
	Query string
	Args  []any
}

// packetOf returns a Packet of several statements, which also collects their results.
func packetOf(all []Statement) *connection.Packet {
	p := &connection.Packet{}
	for _, s := range all {
		p.Add(s.Query, s.Args)
	}
	return p
}

// compound joins several statements into one. Use it only if at most the rows of the last statement
// are needed.
func compound(all []Statement) Statement {
	p := packetOf(all)
	return Statement{p.Compound(), []any{p}}
}

// besides is the number of bytes of a packet that are reserved for all data except the largest
// value.
const besides = 64 << 10

// LargestValue returns how many bytes one value of a statement may have. For a larger value the
// server returns an error, or closes the connection while the value is sent.
func (d *DB) LargestValue(ctx context.Context) (int, error) {
	if !d.Dialect.mysql {
		return math.MaxInt32, nil
	}
	var most int
	err := d.QueryRow(ctx, "SELECT @@max_allowed_packet").Scan(&most)
	return min(most, maxPacket) - besides, err
}

// maxPacket is the largest packet, in bytes, that the driver sends by default.
const maxPacket = 64 << 20

// packetBytes is the maximum size, in bytes, of the statements that wait to be sent together.
const packetBytes = 512 << 10

// Later returns an Execer for statements whose results are not needed. These statements wait. They
// are sent together with the next statement of the transaction, or before it commits. If one of
// them fails, its error is returned by the statement with which it was sent, or at the end of its
// savepoint. The results are empty.
func (t *Tx) Later() Execer { return later{t} }

type later struct{ t *Tx }

func (l later) dialect() *Dialect { return l.t.dialect() }

// Exec records a statement, which is sent later. A large statement is sent at once, and on SQLite
// every statement.
func (l later) Exec(ctx context.Context, query string, args ...any) (Result, error) {
	t, weight := l.t, weigh(args)
	if t.dialect().IsAlone || isLarge(len(args), weight) {
		return t.Exec(ctx, query, args...)
	}
	if err := t.mayGoOn(); err != nil {
		return nil, err
	}
	if t.waits+weight > packetBytes {
		if err := t.flush(ctx); err != nil {
			return nil, err
		}
	}
	t.waits += weight
	t.ran++
	t.locks = true
	t.waiting = append(t.waiting, Statement{query, append([]any(nil), args...)}) // the caller may reuse its slice
	return driver.RowsAffected(0), nil
}

// isLarge reports whether a statement is sent by itself.
func isLarge(args, bytes int) bool {
	return args > connection.MaxJoinedArgs || bytes > connection.MaxJoinedBytes
}

// flush sends the waiting statements, before the end of the transaction or before a large
// statement. Errors: also the reason why no further statement may run.
func (t *Tx) flush(ctx context.Context) error {
	if err := t.mayGoOn(); err != nil || len(t.waiting) == 0 {
		return err
	}
	s := compound(t.waiting)
	t.waiting, t.waits = nil, 0
	_, err := t.tx.ExecContext(t.contextOf(ctx), s.Query, s.Args...)
	return t.classify(err)
}

// send runs a statement. The waiting statements are sent in the same packet, before it.
func (t *Tx) send(ctx context.Context, s Statement) (Result, error) {
	if err := t.flushBefore(ctx, s); err != nil {
		return nil, err
	}
	if len(t.waiting) > 0 {
		p := packetOf(append(t.waiting, s))
		s = Statement{p.Text(), []any{p}}
		t.waiting, t.waits = nil, 0
	}
	r, err := t.tx.ExecContext(t.contextOf(ctx), s.Query, s.Args...)
	return r, t.classify(err)
}

// reading returns the statement to be sent for the reading statement s, and its context. If
// statements wait, the result contains them before s.
func (t *Tx) reading(ctx context.Context, s Statement) (run context.Context, out Statement, err error) {
	if err = t.mayGoOn(); err == nil {
		err = t.flushBefore(ctx, s)
	}
	if err == nil {
		run, err = t.deadline.statement(t.contextOf(ctx))
	}
	if err != nil {
		return nil, s, err
	}
	t.ran++
	if len(t.waiting) > 0 {
		s = compound(append(t.waiting, s))
		t.waiting, t.waits = nil, 0
	}
	return run, s, nil
}

// Waits reports whether q is a transaction with waiting statements. The next read is sent together
// with them, so its time includes theirs.
func Waits(q Querier) bool {
	t, ok := q.(*Tx)
	return ok && len(t.waiting) > 0
}

// flushBefore sends the waiting statements if the statement s is too large to be sent together with
// them.
func (t *Tx) flushBefore(ctx context.Context, s Statement) error {
	if len(t.waiting) > 0 && isLarge(len(s.Args), weigh(s.Args)) {
		return t.flush(ctx)
	}
	return nil
}

// Together runs a few small statements as one transaction. It sends them in one packet, on a
// connection of Small. For each statement it returns the number of affected rows and the
// LAST_INSERT_ID. It runs the statements again if their outcome is not known. If
// Dialect.SmallInside is false, Together cannot be used.
// Errors: as for Small.
func (d *DB) Together(ctx context.Context, all ...Statement) (rows, ids []int64, err error) {
	if len(all) > 1 { // a single statement is a transaction by itself
		all = append(append([]Statement{{Query: "BEGIN"}}, all...), Statement{Query: "COMMIT"})
	}
	backoff := firstBackoff
	for n := 1; ; n++ {
		p, err := d.together(ctx, all)
		switch {
		case err == nil && len(all) > 1:
			return p.Rows[1 : len(all)-1], p.IDs[1 : len(all)-1], nil
		case err == nil:
			return p.Rows, p.IDs, nil
		case !mayRetry(err) || n == maxAttempts || ctx.Err() != nil || !pause(ctx, &backoff):
			return nil, nil, sqlerror.Fault(err)
		}
	}
}

// together makes one attempt of Together. If the transaction may still be open, its connection is
// not used again.
func (d *DB) together(ctx context.Context, all []Statement) (*connection.Packet, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	conn, err := d.small.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	p := packetOf(all)
	if _, err = conn.ExecContext(ctx, p.Text(), p); err == nil && len(p.Rows) != len(all) {
		err = errors.New("the server has not answered every statement")
	}
	if err == nil {
		return p, nil
	}
	if _, undo := conn.ExecContext(ctx, "ROLLBACK"); undo != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	return nil, err
}
