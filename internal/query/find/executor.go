package find

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/query"
	"github.com/alds-dev/alds/internal/query/encode"
	"github.com/alds-dev/alds/internal/query/history"
	"github.com/alds-dev/alds/internal/query/sqlgen"
	"github.com/alds-dev/alds/internal/store/db"
)

// maxArgs is the maximum number of arguments of one statement. SQLite allows 32,766.
const maxArgs = 32_000

// executor executes one plan.
type executor struct {
	prepared
	f   *Finder
	q   db.Querier
	w   sqlgen.Writer
	out *output

	horizon history.Horizon // horizon of history; set if the plan reads the past

	sets       setMemory   // for the sets that are being read
	answer     reservation // for an answer that is returned whole
	contents   reservation // for the longest piece of a flushed answer that has contents
	large      bool        // true: the answer is too large to be buffered
	groups     int         // number of groups so far, without those of rows that refer to no asset
	groupBytes int64       // bytes of groups in the answer
	groupHeld  int64       // bytes of memory that groups take besides

	piece int   // number of rows whose branches are read at once; 0: all
	most  int64 // number of bytes of x.sets at which errBelow ends the reading of branches; 0: none

	handed int           // rows passed to the encoder
	waited time.Duration // how long the executor has waited for the client of a flushed answer

	way      way
	counts   bool                          // true: the statement of the page counts all rows, too
	pageRows *encode.Set                   // rows of the page; nil: not read yet
	number   *int64                        // number of all rows; nil: unknown
	together map[*query.Branch]*encode.Set // rows of branches that were read with the page

	more bool  // true: there are rows after this page
	last []any // sort keys of the page's last row, if the query has a cursor

	haveIDs bool
	ids     []int64
	at      []int64 // moments of ids, if every row has its own moment
	shared  sharedCells
	below   map[*query.Branch]*sharedBelow
}

// each calls row for all rows in order.
func (x *executor) each(ctx context.Context, row func(*encode.Set, int32) error) error {
	if x.way == inBlocks || x.haveIDs {
		return x.eachInBlocks(ctx, row)
	}
	return x.eachOfPage(ctx, row)
}

// hasMore reports whether n rows are more than a page, and stores the result in x.more. A query
// with a cursor reads one row more than its page has.
func (x *executor) hasMore(n int) bool {
	p := x.plan.Page
	x.more = p != nil && p.After != nil && int64(n) > p.Size
	return x.more
}

// setLast stores the sort keys of a row, for the cursor of the next page.
func (x *executor) setLast(s *encode.Set, row int32) {
	x.last = x.last[:0]
	for i := x.plan.Keys; i < s.Width; i++ {
		x.last = append(x.last, s.Cell(row, i).Any())
	}
}

// version identifies a row by its id, and by its moment if rows have moments of their own.
type version struct{ id, moment int64 }

func (x *executor) version(s *encode.Set, row int32, id, moment int, withMoment bool) version {
	v := version{id: s.Cell(row, id).N}
	if withMoment {
		v.moment = s.Cell(row, moment).N
	}
	return v
}

// emit reads the branches of a set and calls row for each row number in the list order. If the
// branches of all these rows take too much memory, it reads those of fewer rows at once.
func (x *executor) emit(ctx context.Context, s *encode.Set, order []int32, row func(*encode.Set, int32) error) error {
	before := x.sets.used
	for len(order) > 0 {
		n, part, rows := len(order), s, order
		if x.together == nil && x.piece > 0 {
			n = min(n, x.piece)
		}
		if n < s.Len() {
			part, rows = s.Part(order[:n]), inOrder(n)
		}
		if x.most = 0; n > 1 && x.together == nil {
			x.most = before + x.f.maxBelow
		}
		switch err := x.emitPiece(ctx, part, rows, row); {
		case errors.Is(err, errBelow):
			x.piece, x.below, part.Lists = max(1, n/8), nil, nil
		case err != nil:
			return err
		default:
			if order = order[n:]; len(order) > 0 && x.sets.used-before < x.f.maxBelow/4 {
				x.piece = 2 * n
			}
		}
		if n < s.Len() || len(order) > 0 {
			x.sets.shrink(before)
		}
	}
	return nil
}

// maxBelow is the default of Finder.maxBelow, in bytes.
const maxBelow = 32 << 20

// errBelow ends the reading of branches that take too much memory.
var errBelow = errors.New("the branches of these rows take too much memory at once")

// emitPiece reads the branches of a set and calls row for each row number in the list order.
// Errors: errBelow, before row is called.
func (x *executor) emitPiece(ctx context.Context, s *encode.Set, order []int32, row func(*encode.Set, int32) error) error {
	if err := x.branches(ctx, s); err != nil {
		return err
	}
	x.most = 0
	if err := x.checkMinSize(s, order); err != nil {
		return err
	}
	for _, r := range order {
		if err := row(s, r); err != nil {
			return err
		}
	}
	x.f.metrics.rows.Add(float64(len(order)))
	x.handed += len(order)
	if n := len(order); n > 0 && x.plan.Keys > 0 {
		x.setLast(s, order[n-1])
	}
	return nil
}

// checkMinSize returns an error if the answer would have too many bytes, even if all values were as
// short as possible. With nested selects, a row that is read once may appear many times in an
// answer.
func (x *executor) checkMinSize(s *encode.Set, order []int32) error {
	if x.out.limit == 0 || !slices.ContainsFunc(s.Body.Branches, func(b *query.Branch) bool { return len(b.Branches) > 0 }) {
		return nil
	}
	rows, sum := encode.MinSize(s), int64(0)
	for _, r := range order {
		sum = encode.AddSize(sum, rows[r])
	}
	return x.out.checkSize(sum)
}

// branches reads the rows of all branches of a set, and of their branches. It uses one statement
// per branch and block of distinct parents.
func (x *executor) branches(ctx context.Context, s *encode.Set) error {
	for _, b := range s.Body.Branches {
		l := encode.List{Set: &encode.Set{Body: &b.Body, Width: len(b.Cells)}, Of: make([]int32, s.Len())}
		each := b.Moment != nil
		parents, err := x.parents(ctx, &l, s, each)
		if err != nil {
			return err
		}
		if rows := x.together[b]; rows != nil {
			l.Set = rows
		} else if err := x.readBranch(ctx, l.Set, b, parents); err != nil {
			return err
		}
		if err := x.assign(ctx, l, parents, each); err != nil {
			return err
		}
		s.Lists = append(s.Lists, l)
		if err := x.branches(ctx, l.Set); err != nil {
			return err
		}
	}
	return nil
}

// readBranch reads the rows of a branch below its parents, block by block.
func (x *executor) readBranch(ctx context.Context, s *encode.Set, b *query.Branch, parents []version) error {
	for block := range slices.Chunk(parents, db.MaxIn) {
		ids, moments := split(block, b.Moment != nil)
		if err := x.readBelow(ctx, s, b, ids, moments); err != nil {
			return err
		}
	}
	return nil
}

// Bytes counted for each group of rows and for each row.
const (
	groupSize = 160
	rowSize   = 12
)

// assign puts the rows of a branch into the groups of their parents, in order.
func (x *executor) assign(ctx context.Context, l encode.List, parents []version, each bool) error {
	if err := x.sets.add(int64(l.Set.Len()) * rowSize); err != nil {
		return err
	}
	group := make(map[version]int32, len(parents))
	for i, v := range parents {
		group[v] = int32(i)
	}
	for i := range int32(l.Set.Len()) {
		if err := checkContext(ctx, int(i)); err != nil {
			return err
		}
		if n, ok := group[x.version(l.Set, i, query.CellParent, query.CellParentMoment, each)]; ok {
			l.Groups[n].Rows = append(l.Groups[n].Rows, i)
		}
	}
	return nil
}

// parents returns the assets of a set, each once. If each is true, an asset is returned once for
// every moment at which it is read. parents adds a group to l for each result.
func (x *executor) parents(ctx context.Context, l *encode.List, s *encode.Set, each bool) ([]version, error) {
	if err := x.sets.add(int64(s.Len()) * rowSize); err != nil {
		return nil, err
	}
	group := map[version]int32{}
	var list []version
	for i := range int32(s.Len()) {
		if err := checkContext(ctx, int(i)); err != nil {
			return nil, err
		}
		v := x.version(s, i, query.CellID, s.Body.AtCell, each)
		n, ok := group[v]
		if !ok {
			n = int32(len(list))
			group[v] = n
			list = append(list, v)
			if err := x.sets.add(groupSize); err != nil {
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

// read runs a statement and returns its rows.
func (x *executor) read(ctx context.Context, st sqlgen.Statement, body *query.Body, width int) (*encode.Set, error) {
	s := &encode.Set{Body: body, Width: width}
	return s, x.readInto(ctx, s, st)
}

func (x *executor) readInto(ctx context.Context, s *encode.Set, st sqlgen.Statement) error {
	return x.scan(ctx, s, st, func() error { return nil })
}

// scan runs a statement, adds each of its rows to s and then calls row. Values that come before the
// cells of s are copied to the variables in before.
func (x *executor) scan(ctx context.Context, s *encode.Set, st sqlgen.Statement, row func() error, before ...any) error {
	if len(st.Args) > maxArgs {
		return fault.Invalidf(fault.NoPlace, "too many values in one query: the limit is %d", maxArgs)
	}
	if err := st.Check(); err != nil {
		return err
	}
	cells := slices.Concat(before, s.Scanners())
	size := s.Size()
	return db.Each(ctx, x.q, st.SQL, x.filled(st.Args), func(r db.Scanner) error {
		if err := r.Scan(cells...); err != nil {
			return err
		}
		if n := s.Size(); n != size {
			if err := x.sets.add(n - size); err != nil {
				return err
			}
			size = n
			if x.most > 0 && x.sets.used > x.most {
				return errBelow
			}
		}
		return row()
	})
}

func inOrder(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}
