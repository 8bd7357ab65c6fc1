package find

import (
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/db"
	"github.com/alds-dev/alds/internal/encode"
	"github.com/alds-dev/alds/internal/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/sqlgen"
)

// deepStart is the row from which a page reads its ids first: the key alone is
// walked to it instead of whole rows.
const deepStart = 100

// maxArgs bounds the values of one statement: SQLite takes 32,766.
const maxArgs = 32_000

// run is one plan being carried out.
type run struct {
	prepared
	f   *Finder
	ctx context.Context
	q   db.Querier
	w   sqlgen.Writer

	more bool  // there are rows after this page
	last []any // keys of its last row, where cursors are asked for

	haveIDs bool
	ids     []int64
	at      []int64 // moments of ids, where every row has its own
}

// each reads all rows and hands them over in order, block by block.
func (run *run) each(row func(*encode.Set, int32) error) error {
	if run.small() {
		s, err := run.read(run.page(), &run.plan.Body, len(run.plan.Cells))
		if err != nil {
			return err
		}
		if run.plan.One && s.Len() == 0 {
			return fault.NotFoundf("Not Found")
		}
		if run.cut(s.Len()) {
			s.Keep(int(run.plan.Page.Size))
		}
		return run.hand(s, inOrder(s.Len()), row)
	}
	if err := run.readIDs(); err != nil {
		return err
	}
	for from := 0; from < len(run.ids); from += db.MaxIn {
		to := min(from+db.MaxIn, len(run.ids))
		if err := run.block(from, to, row); err != nil {
			return err
		}
	}
	return nil
}

// looked reports whether every lookup of the plan brought its ids.
func (run *run) looked() bool {
	return !slices.ContainsFunc(run.plan.Lookups, func(l *query.Lookup) bool { return !l.Known })
}

// look carries out the lookups of the plan.
func (run *run) look() error {
	for _, l := range run.plan.Lookups {
		s, err := run.read(run.w.Lookup(l), &query.Body{}, query.CellMoment+1)
		if err != nil {
			return err
		}
		if l.Known = s.Len() <= query.MaxLookup && s.Len() > 0; !l.Known {
			continue
		}
		for i := range s.Len() {
			l.Found = append(l.Found, s.ID(int32(i)))
		}
	}
	return nil
}

// small reports whether one statement can bring all rows with all their cells.
func (run *run) small() bool {
	if run.haveIDs {
		return false
	}
	return run.one || isSmall(run.plan.Page)
}

// isSmall reports whether a page can come whole from one statement.
func isSmall(p *query.Page) bool {
	return p != nil && p.Size <= db.MaxIn && p.Start < deepStart
}

// cut reports whether n rows are more than a page; where cursors are asked for,
// one more than wanted is read.
func (run *run) cut(n int) bool {
	p := run.plan.Page
	run.more = p != nil && p.After != nil && int64(n) > p.Size
	return run.more
}

// keep remembers the keys of a row that is handed over.
func (run *run) keep(s *encode.Set, row int32) {
	run.last = run.last[:0]
	for i := run.plan.Keys; i < s.Width; i++ {
		run.last = append(run.last, s.Cell(row, i).Value())
	}
}

// readIDs reads which rows there are, in order. They are all that memory
// holds of a large result.
func (run *run) readIDs() error {
	if run.haveIDs {
		return nil
	}
	run.haveIDs = true
	s := &encode.Set{Body: &query.Body{}, Width: query.CellMoment + 1}
	err := run.scan(s, run.w.IDs(run.plan), func() {
		run.ids = append(run.ids, s.ID(0))
		if run.plan.Moment != nil {
			run.at = append(run.at, s.Cell(0, query.CellMoment).N)
		}
		s.Keep(0)
	})
	if err == nil && run.cut(len(run.ids)) {
		run.ids = run.ids[:run.plan.Page.Size]
	}
	return err
}

// block reads the rows of some ids and hands them over in the order of the ids.
func (run *run) block(from, to int, row func(*encode.Set, int32) error) error {
	ids, at := run.ids[from:to], []int64(nil)
	if run.at != nil {
		at = run.at[from:to]
	}
	s, err := run.read(run.w.Block(&run.plan.Select, ids, at), &run.plan.Body, len(run.plan.Cells))
	if err != nil {
		return err
	}
	rowOf := make(map[version]int32, s.Len())
	for i := range int32(s.Len()) {
		rowOf[run.version(s, i, query.CellID, query.CellMoment, at != nil)] = i
	}
	order := make([]int32, 0, len(ids))
	for i, id := range ids {
		v := version{id: id}
		if at != nil {
			v.moment = at[i]
		}
		if r, ok := rowOf[v]; ok {
			order = append(order, r)
		}
	}
	return run.hand(s, order, row)
}

// version names a row: by its id, and by its moment where rows have their own.
type version struct{ id, moment int64 }

func (run *run) version(s *encode.Set, row int32, id, moment int, withMoment bool) version {
	v := version{id: s.Cell(row, id).N}
	if withMoment {
		v.moment = s.Cell(row, moment).N
	}
	return v
}

// hand reads the branches of a set and hands its rows over.
func (run *run) hand(s *encode.Set, order []int32, row func(*encode.Set, int32) error) error {
	if err := run.branches(s); err != nil {
		return err
	}
	for _, r := range order {
		if err := row(s, r); err != nil {
			return err
		}
	}
	run.f.metrics.rows.Add(float64(len(order)))
	if n := len(order); n > 0 && run.plan.Keys > 0 {
		run.keep(s, order[n-1])
	}
	return nil
}

// branches reads what hangs on the rows of a set: one statement per branch and
// block of distinct parents.
func (run *run) branches(s *encode.Set) error {
	for _, b := range s.Body.Branches {
		l := encode.List{Set: &encode.Set{Body: &b.Body, Width: len(b.Cells)}, Rows: make([][]int32, s.Len())}
		s.Lists = append(s.Lists, l)
		if s.Len() == 0 {
			continue
		}
		each := b.Moment != nil
		parents := run.distinct(s, each)
		for from := 0; from < len(parents); from += db.MaxIn {
			block := parents[from:min(from+db.MaxIn, len(parents))]
			ids, moments := split(block, each)
			if err := run.readInto(l.Set, run.w.Children(b, ids, moments)); err != nil {
				return err
			}
		}
		run.assign(l, s, each)
		if err := run.branches(l.Set); err != nil {
			return err
		}
	}
	return nil
}

// assign sorts the rows of a branch to their parents, keeping their order.
func (run *run) assign(l encode.List, s *encode.Set, each bool) {
	of := make(map[version][]int32, s.Len())
	for i := range int32(l.Set.Len()) {
		v := run.version(l.Set, i, query.CellParent, query.CellParentMoment, each)
		of[v] = append(of[v], i)
	}
	for i := range int32(s.Len()) {
		l.Rows[i] = of[run.version(s, i, query.CellID, s.Body.AtCell, each)]
	}
}

// distinct returns the assets of a set, each once, or once for every moment it
// is read at.
func (run *run) distinct(s *encode.Set, each bool) []version {
	seen := make(map[version]bool, s.Len())
	list := make([]version, 0, s.Len())
	for i := range int32(s.Len()) {
		v := run.version(s, i, query.CellID, s.Body.AtCell, each)
		if !seen[v] {
			seen[v] = true
			list = append(list, v)
		}
	}
	return list
}

func split(block []version, each bool) (ids, moments []int64) {
	for _, v := range block {
		ids = append(ids, v.id)
		if each {
			moments = append(moments, v.moment)
		}
	}
	return ids, moments
}

// total counts the rows of the plan, page or not.
func (run *run) total() (int64, error) {
	if run.plan.Page == nil {
		err := run.readIDs()
		return int64(len(run.ids)), err
	}
	s, err := run.read(run.w.Total(run.plan), &query.Body{}, 1)
	if err != nil || s.Len() == 0 {
		return 0, err
	}
	n, _ := s.Cell(0, 0).Int64()
	return n, nil
}

// read runs a statement and keeps its rows.
func (run *run) read(st sqlgen.Statement, body *query.Body, width int) (*encode.Set, error) {
	s := &encode.Set{Body: body, Width: width}
	return s, run.readInto(s, st)
}

func (run *run) readInto(s *encode.Set, st sqlgen.Statement) error {
	return run.scan(s, st, func() {})
}

// scan runs a statement, adds each of its rows to s and tells row of it.
func (run *run) scan(s *encode.Set, st sqlgen.Statement, row func()) error {
	if len(st.Args) > maxArgs {
		return fault.Invalidf(fault.NoPlace, "too many values in one query: the limit is %d", maxArgs)
	}
	rows, err := run.q.Query(run.ctx, st.SQL, run.filled(st.Args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	cells := s.Scanners()
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		row()
	}
	return rows.Err()
}

func inOrder(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}
