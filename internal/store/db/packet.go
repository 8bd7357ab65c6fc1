package db

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/alds-dev/alds/internal/store/sqlerror"
)

// Statement is the text of a statement and its arguments.
type Statement struct {
	Query string
	Args  []any
}

// packet is several statements that a server gets at once, as text, separated by semicolons. It
// is the only argument of the joined statement, and conn takes it apart. It collects the
// results of the statements.
type packet struct {
	all  []Statement
	rows []int64 // affected, by statement
	ids  []int64 // LAST_INSERT_ID
}

// MariaDB sends one response to a compound statement, but one for each of several statements,
// and every response wakes both sides. For other servers the two are comments.
const (
	beginCompound = "/*M!100101 BEGIN NOT ATOMIC */ "
	endCompound   = " /*M!100101 ; END */"
)

// compound is joined for statements of which at most the last one's rows are needed.
func compound(all []Statement) Statement {
	_, s := joined(all)
	if len(all) > 1 {
		s.Query = beginCompound + s.Query + endCompound
	}
	return s
}

// joined returns several statements as one, and the packet that gets their results.
func joined(all []Statement) (*packet, Statement) {
	var text strings.Builder
	for i, s := range all {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(s.Query)
	}
	p := &packet{all: all}
	return p, Statement{text.String(), []any{p}}
}

// packetIn returns the packet that the arguments of a statement contain, or nil.
func packetIn(args []driver.NamedValue) *packet {
	if len(args) != 1 {
		return nil
	}
	p, _ := args[0].Value.(*packet)
	return p
}

// args returns the arguments of all statements of a packet, as the driver needs them for text.
func (c *conn) args(p *packet) ([]driver.NamedValue, error) {
	n := 0
	for _, s := range p.all {
		n += len(s.Args)
	}
	all := make([]driver.NamedValue, 0, n)
	for _, s := range p.all {
		for _, a := range s.Args {
			v := driver.NamedValue{Ordinal: len(all) + 1, Value: a}
			if err := c.checkValue(&v); err != nil {
				return nil, err
			}
			all = append(all, v)
		}
	}
	return asText(all), nil
}

// execPacket runs a packet and records its results. It returns the result of the last
// statement.
func (c *conn) execPacket(ctx context.Context, p *packet, query string) (r driver.Result, err error) {
	args, err := c.args(p)
	if err != nil {
		return nil, err
	}
	note := func() {
		if all, ok := r.(mysql.Result); ok {
			p.rows, p.ids = append(p.rows, all.AllRowsAffected()...), append(p.ids, all.AllLastInsertIds()...)
		}
	}
	if !c.singly {
		begins := c.begins
		if begins {
			c.begins, query = false, c.beginServer()+"; "+query
			c.opened()
		}
		if r, err = c.execText(ctx, query, args); err == nil {
			note()
			if begins {
				before := 1 + strings.Count(c.kept.begin, ";")
				p.rows, p.ids = p.rows[before:], p.ids[before:]
			}
		}
		return r, err
	}
	for _, s := range p.all {
		if r, err = c.execText(ctx, s.Query, args[:len(s.Args)]); err != nil {
			return nil, err
		}
		note()
		args = args[len(s.Args):]
	}
	return r, nil
}

// queryPacket runs a packet whose last statement returns rows. The driver skips the results
// of the others.
func (c *conn) queryPacket(ctx context.Context, p *packet, query string) (driver.Rows, error) {
	args, err := c.args(p)
	if err != nil {
		return nil, err
	}
	switch {
	case c.singly:
		for _, s := range p.all[:len(p.all)-1] {
			if _, err := c.execText(ctx, s.Query, args[:len(s.Args)]); err != nil {
				return nil, err
			}
			args = args[len(s.Args):]
		}
		query = p.all[len(p.all)-1].Query
	case c.begins:
		c.begins, query = false, c.beginServer()+"; "+query
		c.opened()
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// isGalera reports whether a connection is to a node of a Galera cluster. If another node has
// written a row that a transaction holds, the node rolls the transaction back. The next
// statement then fails. MariaDB 10.11 loses this error when that statement is in a packet, or
// is a SELECT that is being prepared. Later statements then run outside of the transaction. A
// statement that is sent as text, by itself, gets the error.
func isGalera(ctx context.Context, c driver.QueryerContext) (bool, error) {
	rows, err := c.QueryContext(ctx, "SHOW VARIABLES LIKE 'wsrep_on'", nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 2)
	if err := rows.Next(row); err != nil {
		return false, nil //nolint:nilerr // no other server has the variable
	}
	value, _ := row[1].([]byte)
	text, _ := row[1].(string)
	return strings.EqualFold(string(value)+text, "ON"), nil
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

// maxPacket is the largest packet that the driver sends, by its default.
const maxPacket = 64 << 20

const (
	// laterArgs and laterBytes limit a statement that is sent with others. A larger one is
	// prepared and sent by itself: for the server that costs less than the additional round
	// trip.
	laterArgs  = 300
	laterBytes = 64 << 10

	// packetBytes limits the size of the waiting statements.
	packetBytes = 512 << 10
)

// Later returns an Execer for statements whose results nobody needs. They are sent together,
// with the next statement of the transaction or before it commits. Their errors appear at the
// statement, or at the end of the savepoint, with which they were sent. The results are
// empty.
func (t *Tx) Later() Execer { return later{t} }

type later struct{ t *Tx }

func (l later) dialect() *Dialect { return l.t.dialect() }

// Exec keeps a statement for later.
func (l later) Exec(ctx context.Context, query string, args ...any) (Result, error) {
	t, weight := l.t, weigh(args)
	if t.dialect().IsAlone || len(args) > laterArgs || weight > laterBytes {
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
	t.waiting = append(t.waiting, Statement{query, append([]any(nil), args...)}) // the caller may reuse its slice
	return driver.RowsAffected(0), nil
}

// flush sends the waiting statements, before the end of the transaction or before a large
// statement. Errors: also why no further statement may run.
func (t *Tx) flush(ctx context.Context) error {
	if err := t.mayGoOn(); err != nil || len(t.waiting) == 0 {
		return err
	}
	s := compound(t.waiting)
	t.waiting, t.waits = nil, 0
	_, err := t.tx.ExecContext(t.contextOf(ctx), s.Query, s.Args...)
	return t.classify(err)
}

// send runs a statement after the waiting ones.
func (t *Tx) send(ctx context.Context, s Statement) (Result, error) {
	if err := t.flushBefore(ctx, s); err != nil {
		return nil, err
	}
	if len(t.waiting) > 0 {
		_, s = joined(append(t.waiting, s))
		t.waiting, t.waits = nil, 0
	}
	r, err := t.tx.ExecContext(t.contextOf(ctx), s.Query, s.Args...)
	return r, t.classify(err)
}

// reading returns a reading statement in the form in which it is sent, after the waiting
// ones.
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

// Waits reports whether q is a transaction with waiting statements. The next read is sent
// after them and includes their time.
func Waits(q Querier) bool {
	t, ok := q.(*Tx)
	return ok && len(t.waiting) > 0
}

// flushBefore sends the waiting statements first if a statement is too large to go with them.
func (t *Tx) flushBefore(ctx context.Context, s Statement) error {
	if len(t.waiting) > 0 && (len(s.Args) > laterArgs || weigh(s.Args) > laterBytes) {
		return t.flush(ctx)
	}
	return nil
}

// Together runs a few small statements as one transaction, sent to the server at once on the
// connections of Small. For each statement it returns the number of affected rows and the
// LAST_INSERT_ID. It runs again when the outcome is not known. Errors: as Small. If
// Dialect.SmallInside is false, Together cannot be used.
func (d *DB) Together(ctx context.Context, all ...Statement) (rows, ids []int64, err error) {
	if len(all) > 1 { // a single statement is a transaction
		all = append(append([]Statement{{Query: "BEGIN"}}, all...), Statement{Query: "COMMIT"})
	}
	backoff := firstBackoff
	for n := 1; ; n++ {
		p, err := d.together(ctx, all)
		switch {
		case err == nil && len(all) > 1:
			return p.rows[1 : len(all)-1], p.ids[1 : len(all)-1], nil
		case err == nil:
			return p.rows, p.ids, nil
		case !mayRetry(err) || n == maxAttempts || ctx.Err() != nil || !pause(ctx, &backoff):
			return nil, nil, sqlerror.Fault(err)
		}
	}
}

// together makes one attempt. A connection whose transaction may be open is not used again.
func (d *DB) together(ctx context.Context, all []Statement) (*packet, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	conn, err := d.small.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	p, s := joined(all)
	if _, err = conn.ExecContext(ctx, s.Query, s.Args...); err == nil && len(p.rows) != len(all) {
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
