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

// idSize is the bytes counted for each id of a large result, slices that have
// grown too large and moments included.
const idSize = 24

// run is one plan being carried out.
type run struct {
	prepared
	f   *Finder
	ctx context.Context
	q   db.Querier
	w   sqlgen.Writer
	out *output

	room   room  // of the sets that are read
	answer lease // of the answer, where it is kept whole
	large  bool  // the answer has been handed on, or was to be
	made   int64 // bytes of groups

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
		to, before := min(from+db.MaxIn, len(run.ids)), run.room.used
		if err := run.block(from, to, row); err != nil {
			return err
		}
		run.room.back(before)
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
		run.last = append(run.last, s.Cell(row, i).Any())
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
	err := run.scan(s, run.w.IDs(run.plan), func() error {
		run.ids = append(run.ids, s.ID(0))
		if run.plan.Moment != nil {
			run.at = append(run.at, s.Cell(0, query.CellMoment).N)
		}
		s.Keep(0)
		return run.room.add(idSize)
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
	if err := run.foresee(s, order); err != nil {
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

// foresee returns an error when the rows cannot but be too many bytes. Rows that
// are read once may stand in an answer many times, where selects nest.
func (run *run) foresee(s *encode.Set, order []int32) error {
	if run.out.limit == 0 || !slices.ContainsFunc(s.Body.Branches, func(b *query.Branch) bool { return len(b.Branches) > 0 }) {
		return nil
	}
	rows, sum := encode.Least(s), int64(0)
	for _, r := range order {
		sum = encode.Add(sum, rows[r])
	}
	return run.out.fits(sum)
}

// branches reads what hangs on the rows of a set: one statement per branch and
// block of distinct parents.
func (run *run) branches(s *encode.Set) error {
	for _, b := range s.Body.Branches {
		l := encode.List{Set: &encode.Set{Body: &b.Body, Width: len(b.Cells)}, Of: make([]int32, s.Len())}
		each := b.Moment != nil
		parents, err := run.parents(&l, s, each)
		if err != nil {
			return err
		}
		for from := 0; from < len(parents); from += db.MaxIn {
			block := parents[from:min(from+db.MaxIn, len(parents))]
			ids, moments := split(block, each)
			if err := run.readInto(l.Set, run.w.Children(b, ids, moments)); err != nil {
				return err
			}
		}
		if err := run.assign(l, parents, each); err != nil {
			return err
		}
		s.Lists = append(s.Lists, l)
		if err := run.branches(l.Set); err != nil {
			return err
		}
	}
	return nil
}

// The bytes counted for an asset whose rows are sorted, and for a row.
const (
	groupSize = 160
	rowSize   = 12
)

// assign sorts the rows of a branch to the groups of their parents, keeping
// their order.
func (run *run) assign(l encode.List, parents []version, each bool) error {
	if err := run.room.add(int64(l.Set.Len()) * rowSize); err != nil {
		return err
	}
	group := make(map[version]int32, len(parents))
	for i, v := range parents {
		group[v] = int32(i)
	}
	for i := range int32(l.Set.Len()) {
		if err := alive(run.ctx, int(i)); err != nil {
			return err
		}
		if n, ok := group[run.version(l.Set, i, query.CellParent, query.CellParentMoment, each)]; ok {
			l.Groups[n].Rows = append(l.Groups[n].Rows, i)
		}
	}
	return nil
}

// parents returns the assets of a set, each once, or once for every moment it is
// read at, and makes a group of l for each.
func (run *run) parents(l *encode.List, s *encode.Set, each bool) ([]version, error) {
	if err := run.room.add(int64(s.Len()) * rowSize); err != nil {
		return nil, err
	}
	group := map[version]int32{}
	var list []version
	for i := range int32(s.Len()) {
		if err := alive(run.ctx, int(i)); err != nil {
			return nil, err
		}
		v := run.version(s, i, query.CellID, s.Body.AtCell, each)
		n, ok := group[v]
		if !ok {
			n = int32(len(list))
			group[v] = n
			list = append(list, v)
			if err := run.room.add(groupSize); err != nil {
				return nil, err
			}
		}
		l.Of[i] = n
	}
	l.Groups = make([]encode.Group, len(list))
	return list, nil
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
	return run.scan(s, st, func() error { return nil })
}

// scan runs a statement, adds each of its rows to s and tells row of it.
func (run *run) scan(s *encode.Set, st sqlgen.Statement, row func() error) error {
	if len(st.Args) > maxArgs {
		return fault.Invalidf(fault.NoPlace, "too many values in one query: the limit is %d", maxArgs)
	}
	rows, err := run.q.Query(run.ctx, st.SQL, run.filled(st.Args)...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	cells := s.Scanners()
	size := s.Size()
	for rows.Next() {
		if err := rows.Scan(cells...); err != nil {
			return err
		}
		if n := s.Size(); n != size {
			if err := run.room.add(n - size); err != nil {
				return err
			}
			size = n
		}
		if err := row(); err != nil {
			return err
		}
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
