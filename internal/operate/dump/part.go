package dump

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
	"github.com/alds-dev/alds/internal/store/tables"
)

// Limits of a part. One statement reads one part.
const (
	partBytes = 2 << 20 // size of the lines in bytes that the method adapt tries to reach
	maxBytes  = 8 << 20 // size of the lines in bytes; a part ends after the row that exceeds it
	firstRows = 16      // maximum number of rows of the first part
	mostRows  = 2000    // maximum number of rows of any part
)

// parts writes the rows of a table as lines, in parts. While it writes lines, no statement runs.
// The reader of the lines may be slow, and servers end statements that run too long.
type parts struct {
	q     db.Querier
	d     *db.Dialect
	t     tables.Table
	w     *bufio.Writer
	cells []cell
	into  []any

	rows  int64  // number of rows so far
	lines []byte // lines of the current part
	last  []any  // the primary key of the last row
	equal int    // number of first columns in which the rows of the next part are equal to last; -1: read from the first row
	limit int    // maximum number of rows of the next part
}

func newParts(q db.Querier, d *db.Dialect, t tables.Table, w *bufio.Writer) *parts {
	columns, _ := t.Key()
	p := &parts{q: q, d: d, t: t, w: w, last: make([]any, columns), equal: -1, limit: firstRows}
	p.cells, p.into = make([]cell, len(t.Columns)), make([]any, len(t.Columns))
	for i, c := range t.Columns {
		p.cells[i] = cell{Column: c, name: `"` + c.Name + `":`}
		p.into[i] = p.cells[i].target()
	}
	return p
}

// errFull ends a part whose lines exceed maxBytes.
var errFull = errors.New("the part is full")

// next reads and writes the next part. It reports whether there may be more rows.
func (p *parts) next(ctx context.Context) (more bool, err error) {
	if _, byKey := p.t.Key(); !byKey { // the table has few rows, or is in SQLite, which has no time limit
		return false, db.Each(ctx, p.q, p.t.SelectAll(p.d), nil, func(row db.Scanner) error {
			p.lines = p.lines[:0]
			if err := p.row(row); err != nil {
				return err
			}
			return p.write()
		})
	}
	before := p.rows
	p.lines = p.lines[:0]
	args := append(slices.Clone(p.last[:p.equal+1]), p.limit)
	err = db.Each(ctx, p.q, p.t.SelectPart(p.d, p.equal), args, func(row db.Scanner) error {
		if err := p.row(row); err != nil {
			return err
		}
		for i := range p.last {
			p.last[i] = p.cells[i].value()
		}
		if len(p.lines) > maxBytes {
			return errFull
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errFull):
		return false, err
	case err != nil || p.rows-before == int64(p.limit):
		p.equal = len(p.last) - 1
		p.adapt()
	default: // no more rows have the same first p.equal columns as the last row
		p.equal--
	}
	return p.equal >= 0, p.write()
}

// adapt sets the maximum number of rows of the next part. It depends on the size of the current
// part.
func (p *parts) adapt() {
	switch {
	case len(p.lines) > partBytes:
		p.limit = max(1, p.limit/2)
	case len(p.lines) < partBytes/2:
		p.limit = min(2*p.limit, mostRows)
	}
}

// row appends a row to the lines.
func (p *parts) row(row db.Scanner) (err error) {
	if err := row.Scan(p.into...); err != nil {
		return err
	}
	p.rows++
	p.lines = append(p.lines, '{')
	begun := len(p.lines)
	for i := range p.cells {
		if p.lines, err = p.cells[i].append(p.lines, begun); err != nil {
			return fmt.Errorf("row %d: %w", p.rows, err)
		}
	}
	p.lines = append(p.lines, '}', '\n')
	return nil
}

func (p *parts) write() error {
	_, err := p.w.Write(p.lines)
	return err
}
