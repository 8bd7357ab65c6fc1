package connection

import (
	"context"
	"database/sql/driver"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
)

// MaxJoinedArgs limits the number of arguments of a statement that is sent together with others.
// MaxJoinedBytes limits the size of these arguments. A larger statement is prepared and sent by
// itself, because for the server that costs less than the parsing of its text, despite the
// additional round trip.
const (
	MaxJoinedArgs  = 300
	MaxJoinedBytes = 64 << 10
)

// Packet has several statements that are sent to a server together, as text, separated by
// semicolons. To run them, use the result of Text or Compound as the query, and the Packet as its
// only argument. Then conn replaces the Packet by the arguments of all its statements.
type Packet struct {
	Rows []int64 // number of affected rows of each statement
	IDs  []int64 // LAST_INSERT_ID after each statement

	all []statement
}

type statement struct {
	query string
	args  []any
}

// Add adds a statement.
func (p *Packet) Add(query string, args []any) {
	p.all = append(p.all, statement{query, args})
}

// Text returns all statements as one text.
func (p *Packet) Text() string {
	var text strings.Builder
	for i, s := range p.all {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(s.query)
	}
	return text.String()
}

// MariaDB sends one response to a compound statement. To several separate statements it sends one
// response each, and both client and server must wake up for each response. Other servers read the
// two constants as comments.
const (
	beginCompound = "/*M!100101 BEGIN NOT ATOMIC */ "
	endCompound   = " /*M!100101 ; END */"
)

// Compound is like Text, but MariaDB sends only one response. Use it only if at most the rows of
// the last statement are needed.
func (p *Packet) Compound() string {
	if len(p.all) > 1 {
		return beginCompound + p.Text() + endCompound
	}
	return p.Text()
}

// packetIn returns the packet that the arguments of a statement contain, or nil.
func packetIn(args []driver.NamedValue) *Packet {
	if len(args) != 1 {
		return nil
	}
	p, _ := args[0].Value.(*Packet)
	return p
}

// args returns the arguments of all statements of a packet, in the form that the driver needs for
// statements sent as text.
func (c *conn) args(p *Packet) ([]driver.NamedValue, error) {
	n := 0
	for _, s := range p.all {
		n += len(s.args)
	}
	all := make([]driver.NamedValue, 0, n)
	for _, s := range p.all {
		for _, a := range s.args {
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
func (c *conn) execPacket(ctx context.Context, p *Packet, query string) (r driver.Result, err error) {
	args, err := c.args(p)
	if err != nil {
		return nil, err
	}
	note := func() {
		if all, ok := r.(mysql.Result); ok {
			p.Rows, p.IDs = append(p.Rows, all.AllRowsAffected()...), append(p.IDs, all.AllLastInsertIds()...)
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
				p.Rows, p.IDs = p.Rows[before:], p.IDs[before:]
			}
		}
		return r, err
	}
	for _, s := range p.all {
		if r, err = c.execText(ctx, s.query, args[:len(s.args)]); err != nil {
			return nil, err
		}
		note()
		args = args[len(s.args):]
	}
	return r, nil
}

// queryPacket runs a packet whose last statement returns rows. The driver skips the results of the
// other statements.
func (c *conn) queryPacket(ctx context.Context, p *Packet, query string) (driver.Rows, error) {
	args, err := c.args(p)
	if err != nil {
		return nil, err
	}
	switch {
	case c.singly:
		for _, s := range p.all[:len(p.all)-1] {
			if _, err := c.execText(ctx, s.query, args[:len(s.args)]); err != nil {
				return nil, err
			}
			args = args[len(s.args):]
		}
		query = p.all[len(p.all)-1].query
	case c.begins:
		c.begins, query = false, c.beginServer()+"; "+query
		c.opened()
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// isGalera reports whether a connection is to a node of a Galera cluster. If another node has
// written a row that a transaction has locked, the node rolls the transaction back. The next
// statement of the transaction then fails. MariaDB 10.11 loses this error when that statement is in
// a packet, or is a SELECT that is being prepared. Later statements then run outside of the
// transaction. A statement that is sent as text and by itself gets the error.
func isGalera(ctx context.Context, c driver.QueryerContext) (bool, error) {
	rows, err := c.QueryContext(ctx, "SHOW VARIABLES LIKE 'wsrep_on'", nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = rows.Close() }()
	row := make([]driver.Value, 2)
	if err := rows.Next(row); err != nil {
		return false, nil //nolint:nilerr // a server without Galera does not have the variable
	}
	value, _ := row[1].([]byte)
	text, _ := row[1].(string)
	return strings.EqualFold(string(value)+text, "ON"), nil
}

// asText converts byte slices that are valid UTF-8 to strings. A server compares a byte slice as
// text in a prepared statement. In SQL text it would compare the byte slice as bytes.
func asText(args []driver.NamedValue) []driver.NamedValue {
	out := make([]driver.NamedValue, len(args))
	for i, a := range args {
		if b, ok := a.Value.([]byte); ok && b != nil && utf8.Valid(b) {
			a.Value = string(b)
		}
		out[i] = a
	}
	return out
}
